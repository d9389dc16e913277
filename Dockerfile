# One image for web, worker, beat and migrations; the command decides.
FROM python:3.12-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv
COPY requirements/base.txt requirements/measured.txt /tmp/
RUN /venv/bin/pip install --require-hashes -r /tmp/base.txt
# docker compose build --build-arg MEASURED=1: with measured kernels (docs/how-to/measured-kernels.md)
ARG MEASURED=
RUN if [ -n "$MEASURED" ]; then /venv/bin/pip install --require-hashes -r /tmp/measured.txt; fi

FROM python:3.12-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends fonts-noto-cjk \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --create-home --home-dir /home/planner planner
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=planner.config.settings \
    STATIC_ROOT=/app/staticfiles XDG_CACHE_HOME=/var/cache/planner
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py pyproject.toml CHANGELOG.md ./
COPY planner planner
COPY sims sims
COPY templates templates
COPY static static
RUN SECRET_KEY=build-only ALLOWED_HOSTS=localhost python manage.py collectstatic --noinput --verbosity 0 \
 && mkdir -p /var/cache/planner && chown planner /var/cache/planner
USER planner
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-m", "planner.config.probe", "http://127.0.0.1:8000/healthz"]
CMD ["gunicorn", "planner.config.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8", "--worker-tmp-dir", "/dev/shm", "--access-logfile", "-"]
