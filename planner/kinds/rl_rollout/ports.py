"""Rollout can run by the hour on the units that another fleet does not need at night."""

from __future__ import annotations

from planner.core.ports import Ports

PORTS = Ports(borrows=True)
