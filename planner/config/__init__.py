"""Settings, entry points and local mode. Loads the Celery app so that tasks bind to it."""

from planner.config.celery import app as celery_app

__all__ = ("celery_app",)
