"""`python -m planner.config.release`: what a release does once, before web and workers start."""

from __future__ import annotations

import os


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.config.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False)
    call_command("load_catalog")


if __name__ == "__main__":
    main()
