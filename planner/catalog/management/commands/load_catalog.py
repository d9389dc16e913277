"""``manage.py load_catalog``: bring the catalog files into the database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from planner.catalog.files import CatalogFileError
from planner.catalog.services import catalog_load


class Command(BaseCommand):
    help = "Load GPUs, LLMs, links, engines, prices and workloads from the catalog files. Safe to repeat."

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            loaded = catalog_load()
        except CatalogFileError as problem:
            raise CommandError(str(problem)) from None
        if options["verbosity"] < 1:
            return
        self.stdout.write(
            f"Catalog: {loaded.created} entries created, {loaded.updated} updated, "
            f"{loaded.removed} removed, {loaded.unchanged} unchanged."
        )
