"""All settings, from the environment. Secrets may also come from files named by ``*_FILE``.

Safe by default: without DEBUG or LOCAL_MODE the server demands SECRET_KEY, ALLOWED_HOSTS and HTTPS.
"""

from __future__ import annotations

import re
from pathlib import Path

import environ
import structlog
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parents[2]
env = environ.FileAwareEnv()

VERSION = next(
    iter(re.findall(r"^## (\d+\.\d+\.\d+)", (BASE_DIR / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)), "0.0.0"
)

DEBUG = env.bool("DEBUG", default=False)
# One user on the loopback interface, signed in by a printed link (`make run`).
LOCAL_MODE = env.bool("LOCAL_MODE", default=False)
LOCAL_DIR = Path(env.str("LOCAL_DIR", default=str(BASE_DIR / ".local")))

SECRET_KEY = env.str("SECRET_KEY", default="")
if not SECRET_KEY:
    if not (DEBUG or LOCAL_MODE):
        raise ImproperlyConfigured("Set SECRET_KEY (or SECRET_KEY_FILE) to a long random string.")
    SECRET_KEY = "local-development-only-never-for-a-server"  # noqa: S105
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG or LOCAL_MODE else [])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "knox",
    "axes",
    "csp",
    "django_htmx",
    "django_prometheus",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "template_partials",
    "planner.accounts",
    "planner.catalog",
    "planner.designs",
    "planner.reports",
    "planner.jobs",
    "planner.api",
    "planner.web",
    "planner.config",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Outside of all that may answer by itself: an error page has the same headers.
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "planner.web.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "planner.accounts.middleware.TeamMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "planner.config.urls"
WSGI_APPLICATION = "planner.config.wsgi.application"
ASGI_APPLICATION = "planner.config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "planner.web.context.site",
            ],
        },
    }
]

DATABASES = {"default": env.db_url("DATABASE_URL", default="postgres://planner@127.0.0.1:5432/planner")}
DATABASES["default"].update(
    {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**DATABASES["default"].get("OPTIONS", {}), "pool": env.bool("DATABASE_POOL", default=False)},
        "CONN_MAX_AGE": 0 if env.bool("DATABASE_POOL", default=False) else env.int("CONN_MAX_AGE", default=60),
    }
)
# knox would make a token table of its own beside ours.
MIGRATION_MODULES = {"knox": None}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "web:sign-in"
LOGIN_REDIRECT_URL = "web:home"
LOGOUT_REDIRECT_URL = "web:sign-in"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "planner.web.views.sign_in.locked_out"

BROKER_URL = env.str("BROKER_URL", default="redis://127.0.0.1:6379/0")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": env.str("CACHE_URL", default=BROKER_URL),
        "KEY_PREFIX": "planner",
        "OPTIONS": {"serializer": "planner.config.cache.JsonSerializer"},
    }
}
CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = env.int("JOB_HARD_LIMIT_S", default=3900)
CELERY_TASK_SOFT_TIME_LIMIT = env.int("JOB_SOFT_LIMIT_S", default=3600)
CELERY_TASK_DEFAULT_QUEUE = "jobs"
CELERY_BEAT_SCHEDULE = {
    "requeue-silent-jobs": {"task": "planner.jobs.tasks.requeue_silent", "schedule": 15.0},
    "purge-deleted": {"task": "planner.jobs.tasks.purge", "schedule": 3600.0},
}
JOB_SILENT_AFTER_S = env.float("JOB_SILENT_AFTER_S", default=60.0)

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "planner" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str((LOCAL_DIR if LOCAL_MODE else BASE_DIR) / "staticfiles")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG or LOCAL_MODE
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = DEBUG or LOCAL_MODE

DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 2**20
FILE_UPLOAD_MAX_MEMORY_SIZE = 32 * 2**20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 400
UPLOAD_MAX_BYTES = env.int("UPLOAD_MAX_BYTES", default=64 * 2**20)
UPLOAD_MAX_ROWS = env.int("UPLOAD_MAX_ROWS", default=6_000_000)

HTTPS = env.bool("HTTPS", default=not (DEBUG or LOCAL_MODE))
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", default=False) else None
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000 if HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = env.bool("HSTS_PRELOAD", default=False)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "EXCLUDE_URL_PREFIXES": ["/api/schema/"],
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}

KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105
REST_KNOX = {"TOKEN_MODEL": "accounts.ApiToken", "AUTH_HEADER_PREFIX": "Bearer", "TOKEN_TTL": None}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "planner.api.authentication.TokenOfATeam",
        "planner.api.authentication.SessionOfATeam",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["planner.api.permissions.TeamRole"],
    "DEFAULT_RENDERER_CLASSES": ["planner.api.rendering.StrictJsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["planner.api.rendering.StrictJsonParser"],
    "EXCEPTION_HANDLER": "planner.api.errors.problem_response",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "planner.api.paging.Pages",
    "DEFAULT_THROTTLE_CLASSES": ["planner.api.throttling.PerUser"],
    "DEFAULT_THROTTLE_RATES": {
        "user": env.str("API_RATE", default="3000/min"),
        "anon": env.str("API_RATE_ANON", default="60/min"),
    },
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Fleet planner API",
    "DESCRIPTION": "Estimates, simulations, comparisons and reports of LLM inference fleets.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": ""},
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
}

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer()
        if not (DEBUG or LOCAL_MODE)
        else structlog.dev.ConsoleRenderer(colors=False),
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {"django.request": {"level": "ERROR"}, "axes": {"level": "WARNING"}},
}
