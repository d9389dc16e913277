"""`manage.py local_start`: what `make run` calls each time it starts."""

from __future__ import annotations

import json
import stat
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.utils import timezone
from knox.crypto import hash_token

from planner.accounts import services
from planner.accounts.models import ApiToken, User


def start(file: Path) -> dict[str, Any]:
    out = StringIO()
    call_command("local_start", "--token-file", str(file), stdout=out)
    return json.loads(out.getvalue())


def test_it_prints_a_link_that_signs_the_local_user_in_once(db: None, tmp_path: Path) -> None:
    path = start(tmp_path / "token")["link_path"]
    assert path.startswith("/enter/")
    token = path.removeprefix("/enter/").removesuffix("/")
    user = services.sign_in_link_use(token=token, now=timezone.now())
    assert user is not None
    assert user.username == "local"
    assert services.sign_in_link_use(token=token, now=timezone.now()) is None


def test_the_token_file_is_private_and_holds_a_working_token(db: None, tmp_path: Path) -> None:
    file = tmp_path / "inner" / "token"
    plain = start(file)["token"]
    assert file.read_text() == f"{plain}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = ApiToken.objects.get(digest=hash_token(plain))
    assert (token.name, token.scopes, token.expiry) == ("local", ["read", "write"], None)


def test_a_second_start_keeps_user_and_token_and_makes_a_fresh_link(db: None, tmp_path: Path) -> None:
    first, second = start(tmp_path / "token"), start(tmp_path / "token")
    assert first["token"] == second["token"]
    assert first["link_path"] != second["link_path"]
    assert (User.objects.count(), ApiToken.objects.count()) == (1, 1)


def test_a_lost_or_foreign_token_file_gets_a_new_token_and_the_old_one_stops(db: None, tmp_path: Path) -> None:
    file = tmp_path / "token"
    first = start(file)["token"]
    file.write_text("something else\n")
    file.chmod(0o644)
    second = start(file)["token"]
    assert second != first
    assert list(ApiToken.objects.values_list("digest", flat=True)) == [hash_token(second)]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
