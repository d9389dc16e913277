from __future__ import annotations

import pytest

from planner.accounts import services
from planner.accounts.models import Team, User


@pytest.fixture
def alice(db: None) -> User:
    return services.create_user(username="alice")


@pytest.fixture
def bob(db: None) -> User:
    return services.create_user(username="bob")


@pytest.fixture
def charlie(db: None) -> User:
    """A stranger: in a team of his own."""
    user = services.create_user(username="charlie")
    services.create_team(name="Elsewhere", owner=user)
    return user


@pytest.fixture
def team(alice: User) -> Team:
    return services.create_team(name="Planning", owner=alice)
