"""Routes of the pages that turn figures into a decision."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
