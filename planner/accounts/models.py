"""Users, teams and their roles, API tokens, one-time sign-in links, and the audit trail."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from knox.models import AbstractAuthToken


class User(AbstractUser):  # type: ignore[django-manager-missing]
    """A person. ``language`` and ``theme`` are their choices ("" follows the browser)."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    language = models.CharField(max_length=12, blank=True, default="")
    theme = models.CharField(max_length=8, blank=True, default="")


class Team(models.Model):  # type: ignore[django-manager-missing]
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="teams"
    )

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do: viewers read, editors write, admins manage members and shares of others."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


class Membership(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.EDITOR)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "team"), name="one_membership_per_team"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        )


class ApiToken(AbstractAuthToken):  # type: ignore[misc]
    """A hashed token of one user in one team. ``scopes`` is a subset of read, write."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=80, default="")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    scopes = ArrayField(models.CharField(max_length=12), default=list)

    class Meta:
        swappable = "KNOX_TOKEN_MODEL"


class SignInLink(models.Model):
    """A sign-in link that works once; only its digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class AuditEntry(models.Model):
    """Who changed what, when. Written by the services that make the change, in the same transaction."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="audit")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    at = models.DateTimeField(auto_now_add=True)
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=40)
    summary = models.CharField(max_length=300, default="")

    class Meta:
        indexes = (models.Index(fields=("team", "-at"), name="audit_team_at"),)
