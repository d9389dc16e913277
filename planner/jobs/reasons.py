"""Why a run ended before its work was done, and what to do about it, in the user's words."""

from __future__ import annotations

from django.utils.translation import gettext as _

from planner.jobs.models import Purpose


def smaller(purpose: str) -> str:
    """What to ask for where a run was too large."""
    if purpose == Purpose.SWEEP:
        return _("Sweep fewer points.")
    if purpose == Purpose.SENSITIVITY:
        return _("Draw less often.")
    return _("Simulate fewer requests or a shorter time.")


def lost_twice(purpose: str) -> dict[str, str]:
    """Of a run whose workers died."""
    return {
        "message": _("The worker stopped twice without finishing."),
        "suggestion": _("%(smaller)s The machine may be out of memory.") % {"smaller": smaller(purpose)},
    }
