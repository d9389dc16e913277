"""Makes local mode ready: the local user and team, a fresh sign-in link, and an API token in a file."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db.models import Q
from django.utils import timezone
from knox.crypto import hash_token

from planner.accounts import services
from planner.accounts.models import ApiToken, User

TOKEN_NAME = "local"  # noqa: S105 - a label, not a secret
LINK_TTL_S = 24 * 3600.0


def _is_valid(plain: str, user: User) -> bool:
    alive = Q(expiry__isnull=True) | Q(expiry__gt=timezone.now())
    return bool(plain) and ApiToken.objects.filter(alive, digest=hash_token(plain), user=user).exists()


def _write_private(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        os.fchmod(handle.fileno(), 0o600)
        handle.write(text)


def local_token(user: User, *, file: Path) -> str:
    """The token kept in ``file`` while it is valid, else a new one; an older one whose text is lost is revoked."""
    kept = file.read_text(encoding="utf-8").strip() if file.exists() else ""
    if _is_valid(kept, user):
        file.chmod(0o600)
        return kept
    for lost in ApiToken.objects.filter(user=user, name=TOKEN_NAME).select_related("team"):
        services.token_revoke(token=lost, by=user)
    _token, plain = services.token_create(user=user, team=user.teams.earliest("memberships__pk"), name=TOKEN_NAME)
    _write_private(file, plain + "\n")
    return plain


class Command(BaseCommand):
    help = "Prepare local mode and print its sign-in link and API token as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--token-file", type=Path, default=settings.LOCAL_DIR / "token")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        user = services.local_user()
        token = local_token(user, file=options["token_file"])
        link = services.sign_in_link_create(user=user, ttl_s=LINK_TTL_S)
        self.stdout.write(json.dumps({"link_path": f"/enter/{link}/", "token": token}))
