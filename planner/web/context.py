"""What every page shows around its content: versions, navigation, theme and language."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language, gettext_lazy

from planner.accounts import selectors as accounts
from planner.catalog import selectors as catalogs
from planner.web.middleware import available_languages

# Route, label, and the key after `g` that goes there.
NAVIGATION = (
    ("web:home", gettext_lazy("Designs"), "d"),
    ("web:compare", gettext_lazy("Compare"), ""),
    ("web:plans", gettext_lazy("Plans"), ""),
    ("web:workloads", gettext_lazy("Workloads"), "w"),
    ("web:catalog", gettext_lazy("Catalog"), "c"),
    ("web:jobs", gettext_lazy("Jobs"), "j"),
    ("web:validation", gettext_lazy("Validation"), ""),
    ("web:api-guide", gettext_lazy("API"), ""),
)
THEMES = ("light", "dark")


def site(request: HttpRequest) -> dict[str, Any]:
    """Context of `base.html`."""
    theme = request.COOKIES.get("theme", "")
    catalog = catalogs.catalog()
    segment = request.path.split("/")[1]
    return {
        "navigation": NAVIGATION,
        "section": "web:home" if segment in ("", "designs") else f"web:{segment}",
        "theme": theme if theme in THEMES else "",
        "keys_off": request.COOKIES.get("keys") == "off",
        "code_version": settings.VERSION,
        "local_mode": settings.LOCAL_MODE,
        "catalog_as_of": catalog.as_of,
        "catalog_digest": catalog.digest[:6],
        "other_languages": [row for row in available_languages() if row[0] != get_language()],
        "may_edit": accounts.allows(getattr(request, "role", None), "editor"),
    }
