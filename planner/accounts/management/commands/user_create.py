"""``manage.py user_create NAME``: a person who may sign in, by a password or first by a link."""

from __future__ import annotations

from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from planner.accounts import services

LINK_TTL_S = 7 * 24 * 3600.0


def asked_password() -> str:
    """The password, typed twice."""
    password = getpass("Password: ")
    if password != getpass("Again: "):
        raise CommandError("The two passwords differ; nothing was made.")
    return password


class Command(BaseCommand):
    help = "Make a user. Asks for a password; with --link prints a sign-in link instead, good once within seven days."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--email", default="")
        parser.add_argument("--link", action="store_true", help="print a one-time sign-in link, set no password")

    def handle(self, *_args: Any, **options: Any) -> None:
        password = None if options["link"] else asked_password()
        try:
            with transaction.atomic():
                user = services.create_user(username=options["username"], password=password, email=options["email"])
        except ValidationError as problem:
            raise CommandError(" ".join(problem.messages)) from None
        except (ValueError, IntegrityError):
            raise CommandError(f"There is a user “{options['username']}” already, or the name is empty.") from None
        self.stdout.write(f"User “{user.username}” can sign in; an admin of a team adds them to it.")
        if options["link"]:
            self.stdout.write(f"/enter/{services.sign_in_link_create(user=user, ttl_s=LINK_TTL_S)}/")
