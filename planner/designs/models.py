"""Saved designs with their revisions, comparisons, drills and fleet plans, what was measured, and links to share."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from planner.accounts.models import Team


class Design(models.Model):
    """A kind and a spec under a name. ``revision`` is its ETag: a write names the revision it read.

    ``deleted_at`` marks a deletion that can still be undone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="designs")
    kind = models.CharField(max_length=40)
    name = models.CharField(max_length=160)
    description = models.TextField(blank=True, default="")
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    spec = models.JSONField(default=dict)
    spec_version = models.PositiveIntegerField(default=1)
    revision = models.PositiveIntegerField(default=1)
    example = models.CharField(max_length=80, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=("team", "-updated_at"), name="design_team_updated"),
            GinIndex(fields=("tags",), name="design_tags"),
        )
        constraints = (models.CheckConstraint(condition=~models.Q(name=""), name="design_has_a_name"),)

    def __str__(self) -> str:
        return self.name


class Revision(models.Model):
    """A design as it was saved; never changed afterwards."""

    design = models.ForeignKey(Design, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=160)
    description = models.TextField(blank=True, default="")
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    spec = models.JSONField()
    spec_version = models.PositiveIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("design", "number"), name="revision_number_once"),)


class Measurement(models.Model):
    """One run of a load generator, as uploaded: ``figures`` in base units by metric name, and its ``load``."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="measurements")
    name = models.CharField(max_length=160)
    tool = models.CharField(max_length=40)
    llm = models.CharField(max_length=120, blank=True, default="")
    figures = models.JSONField()
    load = models.JSONField(default=dict)
    filename = models.CharField(max_length=160, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=("team", "-created_at"), name="measurement_team_created"),)

    def __str__(self) -> str:
        return self.name


class Comparison(models.Model):
    """Two to six answers side by side; A is the baseline. ``items`` is a list in order, each of them one of
    {"design": id}, {"kind", "spec", "name"}, {"measurement": id, "found"} and {"simulation": job, "found"}, where
    ``found`` is what was found, frozen (see `designs.found`). ``mode`` says on what terms they are compared.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="comparisons")
    name = models.CharField(max_length=160, blank=True, default="")
    items = models.JSONField()
    mode = models.CharField(max_length=12, default="as_is")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)


class FleetPlan(models.Model):
    """Designs joined to one fleet: ``body`` as `designs.plan_body` checks it (members, joins, night)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="plans")
    name = models.CharField(max_length=160)
    body = models.JSONField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = (models.Index(fields=("team", "-updated_at"), name="plan_team_updated"),)

    def __str__(self) -> str:
        return self.name


class Drill(models.Model):
    """A preset of a kind, played on the designs of a comparison: ``runs`` are their simulations, in its order, by the
    key that their jobs share ([{"label", "key"}]). ``key`` digests all of it: the same drill is kept once.
    """

    comparison = models.OneToOneField(Comparison, on_delete=models.CASCADE, primary_key=True, related_name="drill")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="drills")
    kind = models.CharField(max_length=40)
    name = models.CharField(max_length=60)
    design = models.ForeignKey(Design, on_delete=models.SET_NULL, null=True, related_name="drills")
    design_revision = models.PositiveIntegerField(null=True)
    how = models.JSONField()
    runs = models.JSONField()
    key = models.CharField(max_length=64, db_index=True)


class Share(models.Model):
    """A read-only link to a frozen result. The link is derived from ``id`` and the secret key: no secret is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="shares")
    design = models.ForeignKey(Design, on_delete=models.CASCADE, null=True, blank=True, related_name="shares")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, null=True, blank=True, related_name="shares")
    frozen = models.JSONField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(design__isnull=False, comparison__isnull=True)
                | models.Q(design__isnull=True, comparison__isnull=False),
                name="share_of_one_thing",
            ),
        )
