"""The language of a page: the reader's cookie, else what the browser asks for, among the languages we have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers


@cache
def available_languages() -> tuple[tuple[str, str], ...]:
    """The languages of the settings for which messages are compiled; the source language always is."""
    source = settings.LANGUAGE_CODE
    return tuple((code, name) for code, name in settings.LANGUAGES if code == source or _has_messages(code))


def _has_messages(code: str) -> bool:
    locale = translation.to_locale(code)
    return any((Path(path) / locale / "LC_MESSAGES" / "django.mo").exists() for path in settings.LOCALE_PATHS)


class LanguageMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        wanted = translation.get_language_from_request(request)
        if wanted not in dict(available_languages()):
            wanted = settings.LANGUAGE_CODE
        with translation.override(wanted):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", wanted)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response
