"""The Job row is the truth about a long computation; Celery only carries its id."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from planner.accounts.models import Team
from planner.designs.models import Design


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Purpose(models.TextChoices):
    SIMULATION = "simulation"
    REPORT = "report"
    SWEEP = "sweep"
    SENSITIVITY = "sensitivity"


class Job(models.Model):
    """One run. ``request`` says what to compute; ``key`` digests spec, catalog, code and seed: the same key gives
    the stored result back. ``result`` is complete JSON, ``document`` a file (a PDF). ``error`` is
    {"message", "suggestion"}: a reason for the user, never a traceback.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="jobs")
    purpose = models.CharField(max_length=16, choices=Purpose.choices)
    title = models.CharField(max_length=200)
    design = models.ForeignKey(Design, on_delete=models.SET_NULL, null=True, blank=True, related_name="jobs")
    design_revision = models.PositiveIntegerField(null=True)
    kind = models.CharField(max_length=40)
    request = models.JSONField()
    key = models.CharField(max_length=64, db_index=True)
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    fraction = models.FloatField(default=0.0)
    simulated_s = models.FloatField(default=0.0)
    events = models.BigIntegerField(default=0)
    message = models.CharField(max_length=300, blank=True, default="")
    partial = models.JSONField(null=True)
    result = models.JSONField(null=True)
    document = models.BinaryField(null=True)
    error = models.JSONField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=("team", "-created_at"), name="job_team_created"),
            models.Index(fields=("state", "heartbeat_at"), name="job_state_heartbeat"),
        )


class JobPart(models.Model):
    """One replication of a simulation, or some points of a sweep: what it has ``observed`` is kept, packed, until the
    job has ended.

    ``heartbeat_at`` of a queued part is when it was last offered to the workers; None before the first time.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="parts")
    place = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    fraction = models.FloatField(default=0.0)
    simulated_s = models.FloatField(default=0.0)
    events = models.BigIntegerField(default=0)
    observed = models.BinaryField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True, default="")
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("job", "place"), name="one_part_a_place"),)
        indexes = (models.Index(fields=("state", "heartbeat_at"), name="part_state_heartbeat"),)


class JobLogLine(models.Model):
    """One line of a job's log, for people."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField(auto_now_add=True)
    event = models.CharField(max_length=20)
    text = models.CharField(max_length=400)
