"""Users, teams, roles, tokens, sign-in links and the audit trail."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, transaction
from django.utils import timezone
from knox.crypto import hash_token

from planner.accounts import selectors, services
from planner.accounts.models import ApiToken, AuditEntry, Membership, SignInLink, Team, User


class TestUsersAndTeams:
    def test_a_user_without_a_password_cannot_sign_in_with_any(self, alice: User) -> None:
        assert not alice.has_usable_password()
        assert not alice.check_password("")

    @pytest.mark.parametrize("weak", ["short", "password123", "alexandria-the-great"])
    def test_a_weak_password_is_refused(self, db: None, weak: str) -> None:
        with pytest.raises(ValidationError):
            services.create_user(username="alexandria-the-great", password=weak)
        assert not User.objects.filter(username="alexandria-the-great").exists()

    def test_a_good_password_is_stored_as_a_scrypt_hash(self, db: None) -> None:
        user = services.create_user(username="dora", password="violet harbour 92")
        assert user.check_password("violet harbour 92")
        assert user.password.startswith("scrypt$")

    def test_the_owner_of_a_new_team_is_its_admin(self, alice: User, team: Team) -> None:
        assert selectors.role_in(alice, team) == "admin"
        assert list(selectors.teams_of(alice)) == [team]

    def test_a_stranger_has_no_role(self, team: Team, charlie: User) -> None:
        assert selectors.role_in(charlie, team) is None


class TestMemberships:
    def test_a_role_can_be_given_and_changed(self, team: Team, alice: User, bob: User) -> None:
        services.membership_set(team=team, user=bob, role="viewer", by=alice)
        services.membership_set(team=team, user=bob, role="editor", by=alice)
        assert selectors.role_in(bob, team) == "editor"
        assert Membership.objects.filter(team=team).count() == 2

    def test_an_unknown_role_is_refused(self, team: Team, alice: User, bob: User) -> None:
        with pytest.raises(ValueError, match="owner"):
            services.membership_set(team=team, user=bob, role="owner", by=alice)
        assert selectors.role_in(bob, team) is None

    def test_the_database_refuses_an_unknown_role_too(self, team: Team, bob: User) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.create(team=team, user=bob, role="owner")

    def test_the_last_admin_cannot_step_down_or_leave(self, team: Team, alice: User) -> None:
        with pytest.raises(services.LastAdmin):
            services.membership_set(team=team, user=alice, role="editor", by=alice)
        with pytest.raises(services.LastAdmin):
            services.membership_remove(team=team, user=alice, by=alice)
        assert selectors.role_in(alice, team) == "admin"

    def test_one_of_two_admins_may_leave(self, team: Team, alice: User, bob: User) -> None:
        services.membership_set(team=team, user=bob, role="admin", by=alice)
        assert services.membership_remove(team=team, user=alice, by=bob)
        assert selectors.role_in(alice, team) is None

    def test_leaving_takes_the_tokens_of_that_team_along(self, team: Team, alice: User, bob: User) -> None:
        services.membership_set(team=team, user=bob, role="editor", by=alice)
        own = services.create_team(name="Own", owner=bob)
        services.token_create(user=bob, team=team, name="here")
        services.token_create(user=bob, team=own, name="there")
        services.membership_remove(team=team, user=bob, by=alice)
        assert list(ApiToken.objects.filter(user=bob).values_list("name", flat=True)) == ["there"]


class TestTokens:
    def test_only_the_digest_is_stored(self, team: Team, alice: User) -> None:
        token, plain = services.token_create(user=alice, team=team, name="ci")
        assert len(plain) == 64
        assert token.digest == hash_token(plain)
        row = ApiToken.objects.filter(pk=token.pk).values().get()
        assert not [name for name, value in row.items() if plain in str(value)]

    def test_scopes_are_kept_in_order_and_once(self, team: Team, alice: User) -> None:
        token, _plain = services.token_create(user=alice, team=team, name="", scopes=["write", "read", "read"])
        assert token.scopes == ["read", "write"]

    def test_an_unknown_scope_is_refused(self, team: Team, alice: User) -> None:
        with pytest.raises(ValueError, match="admin"):
            services.token_create(user=alice, team=team, name="", scopes=["admin"])
        assert not ApiToken.objects.exists()

    def test_expiry_counts_from_now(self, team: Team, alice: User) -> None:
        token, _plain = services.token_create(user=alice, team=team, name="", expires_in=timedelta(days=1))
        assert abs(token.expiry - timezone.now() - timedelta(days=1)) < timedelta(minutes=1)

    def test_revoking_deletes_it_and_says_so(self, team: Team, alice: User) -> None:
        token, _plain = services.token_create(user=alice, team=team, name="ci")
        services.token_revoke(token=token, by=alice)
        assert not ApiToken.objects.exists()
        assert selectors.audit_entries(team, subject="token").first().action == "revoked"

    def test_nobody_lists_the_tokens_of_another(self, team: Team, alice: User, bob: User) -> None:
        services.membership_set(team=team, user=bob, role="admin", by=alice)
        services.token_create(user=alice, team=team, name="hers")
        assert not selectors.tokens(bob, team=team).exists()


class TestSignInLinks:
    def test_a_link_works_once(self, alice: User) -> None:
        token = services.sign_in_link_create(user=alice, ttl_s=60)
        assert services.sign_in_link_use(token=token, now=timezone.now()) == alice
        assert services.sign_in_link_use(token=token, now=timezone.now()) is None

    def test_only_the_digest_is_stored(self, alice: User) -> None:
        token = services.sign_in_link_create(user=alice, ttl_s=60)
        assert token not in str(SignInLink.objects.values().get())

    def test_an_expired_link_opens_nothing(self, alice: User) -> None:
        token = services.sign_in_link_create(user=alice, ttl_s=60)
        assert services.sign_in_link_use(token=token, now=timezone.now() + timedelta(seconds=61)) is None

    def test_a_forged_link_opens_nothing(self, alice: User) -> None:
        services.sign_in_link_create(user=alice, ttl_s=60)
        assert services.sign_in_link_use(token="forged", now=timezone.now()) is None

    def test_a_link_of_an_inactive_user_opens_nothing(self, alice: User) -> None:
        token = services.sign_in_link_create(user=alice, ttl_s=60)
        User.objects.update(is_active=False)
        assert services.sign_in_link_use(token=token, now=timezone.now()) is None

    @pytest.mark.django_db(transaction=True)
    def test_of_many_clicks_at_once_one_gets_in(self) -> None:
        user = services.create_user(username="racer")
        token = services.sign_in_link_create(user=user, ttl_s=60)
        start, found = threading.Barrier(6), []

        def click() -> None:
            start.wait()
            try:
                found.append(services.sign_in_link_use(token=token, now=timezone.now()))
            finally:
                connections.close_all()

        clicks = [threading.Thread(target=click) for _ in range(6)]
        for each in clicks:
            each.start()
        for each in clicks:
            each.join()
        assert len(found) == 6
        assert [user_ for user_ in found if user_ is not None] == [user]


class TestAudit:
    def test_it_says_who_did_what(self, team: Team, alice: User, bob: User) -> None:
        services.membership_set(team=team, user=bob, role="viewer", by=alice)
        entry = selectors.audit_entries(team, subject="member").get()
        assert (entry.user, entry.action, entry.subject_id) == (alice, "role set", str(bob.public_id))
        assert entry.summary == "bob: viewer"

    def test_a_long_summary_is_cut(self, team: Team) -> None:
        entry = services.audit(team=team, user=None, action="x", subject="y", subject_id=1, summary="z" * 999)
        assert len(entry.summary) == 300

    def test_a_change_that_fails_leaves_no_entry(self, team: Team, alice: User) -> None:
        before = AuditEntry.objects.count()
        with pytest.raises(services.LastAdmin):
            services.membership_remove(team=team, user=alice, by=alice)
        assert AuditEntry.objects.count() == before


class TestLocalUser:
    def test_it_is_made_once(self, db: None) -> None:
        first, second = services.local_user(), services.local_user()
        assert first == second
        assert [team.name for team in selectors.teams_of(first)] == ["Local"]
        assert selectors.role_in(first, selectors.teams_of(first).get()) == "admin"
