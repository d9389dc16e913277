"""Rows of the catalog: entries loaded from the files, a team's own entries, and workloads."""

from __future__ import annotations

import uuid

from django.db import models

from planner.accounts.models import Team


class Entry(models.Model):
    """One catalog entry. ``payload`` is the checked content of its file or of an import; no team: it is built in."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    table = models.CharField(max_length=16)
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=160)
    group = models.CharField(max_length=80, blank=True, default="")
    payload = models.JSONField()
    search = models.TextField(default="")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="catalog_entries")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("table", "slug", "team"), name="entry_slug_once_per_team", nulls_distinct=False
            ),
        )


class Workload(models.Model):
    """Requests to plan for: a ``profile`` (mean rate, lengths, hit rate in ``facts``) or a ``trace`` (``columns``: an
    npz, see `columns`). Never holds prompt text.
    A null team means it ships with the project.
    """

    class Form(models.TextChoices):
        PROFILE = "profile"
        TRACE = "trace"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=160)
    form = models.CharField(max_length=8, choices=Form.choices)
    description = models.TextField(blank=True, default="")
    source = models.CharField(max_length=300, blank=True, default="")
    licence = models.CharField(max_length=80, blank=True, default="")
    facts = models.JSONField(default=dict)
    columns = models.BinaryField(null=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="workloads")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("slug", "team"), name="workload_slug_once_per_team", nulls_distinct=False),
        )
