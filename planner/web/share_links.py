"""Share links on the pages of designs and comparisons: how long one lives, its address, who takes it back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from planner.accounts.selectors import allows
from planner.designs import selectors, services
from planner.designs.models import Comparison, Design, Share
from planner.designs.texts import InvalidField
from planner.web.security import TeamRequest

SHARE_DAYS = (7, 30, 90)


def expiry_read(request: TeamRequest) -> datetime | None:
    """When the link of the form stops working, None for never; raises `InvalidField`."""
    days = request.POST.get("days", "")
    if days not in ("", *map(str, SHARE_DAYS)):
        raise InvalidField(field="days", message=_("Choose one of the offered times."))
    return timezone.now() + timedelta(days=int(days)) if days else None


def share_rows(request: TeamRequest, **subject: Design | Comparison | None) -> list[dict[str, Any]]:
    """The links of a design or comparison, newest first, each with its address."""
    now = timezone.now()
    return [
        {
            "share": row,
            "link": address_of(request, row),
            "expired": row.expires_at is not None and row.expires_at <= now,
            "may_revoke": _may_revoke(request, row),
        }
        for row in selectors.shares(request.team, **subject).defer("frozen")  # type: ignore[arg-type]
    ]


def address_of(request: TeamRequest, share: Share) -> str:
    """The whole address a link opens at."""
    return request.build_absolute_uri(services.share_link(share))


def revoke(request: TeamRequest, share_id: UUID, **subject: Design | Comparison) -> None:
    """Take a link of this design or comparison back; a 404 for any other, a 403 for what an admin has to do."""
    found = selectors.shares(request.team, **subject).filter(id=share_id).select_related("team").first()  # type: ignore[arg-type]
    if found is None:
        raise Http404
    if not _may_revoke(request, found):
        raise PermissionDenied(_("Only an admin of the team may take back the link of somebody else."))
    services.share_revoke(share=found, user=request.user)


def _may_revoke(request: TeamRequest, share: Share) -> bool:
    """Editors their own links, admins anybody's: the rule of the API too."""
    return share.created_by_id == request.user.pk or allows(request.role, "admin")
