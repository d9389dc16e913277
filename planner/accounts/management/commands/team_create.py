"""``manage.py team_create NAME --admin USER``: a team with its first admin, who adds the others on the account page."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from planner.accounts import selectors, services
from planner.accounts.models import Team

LONGEST_NAME = 120


class Command(BaseCommand):
    help = "Make a team. Its admin adds members and sets their roles on the account page or over REST."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--admin", required=True, help="name of an existing user (see user_create)")

    def handle(self, *_args: Any, **options: Any) -> None:
        name = " ".join(options["name"].split())
        if not name or len(name) > LONGEST_NAME:
            raise CommandError(f"Give the team a name of at most {LONGEST_NAME} characters.")
        if Team.objects.filter(name=name).exists():
            raise CommandError(f"There is a team “{name}” already.")
        admin = selectors.user_named(options["admin"])
        if admin is None:
            raise CommandError(f"There is no user “{options['admin']}”: make one with `manage.py user_create` first.")
        team = services.create_team(name=name, owner=admin)
        self.stdout.write(f"Team “{team.name}” is made; “{admin.username}” is its admin.")
