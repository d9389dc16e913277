"""Routes of the API that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern

routes: list[URLPattern] = []
