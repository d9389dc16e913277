from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pydantic import ValidationError

from planner.accounts.models import AuditEntry
from planner.designs import selectors, services
from planner.designs.models import Comparison, Design, Revision
from planner.designs.services import InvalidField, StaleWrite

pytestmark = pytest.mark.django_db


@pytest.fixture
def design(team, alice):
    return services.design_create(team=team, user=alice, kind="toy", spec={"rate_rps": 50}, name="Fleet", tags=["H800"])


def audited(team):
    return list(AuditEntry.objects.filter(team=team, subject="design").order_by("pk").values_list("action", flat=True))


def test_a_new_design_has_its_complete_spec_a_first_revision_and_an_audit_entry(design, team, alice):
    assert (design.revision, design.spec["rate_rps"], design.spec["unit_gpus"]) == (1, 50, 4)
    only = design.revisions.get()
    assert (only.number, only.spec, only.author) == (1, design.spec, alice)
    assert audited(team) == ["created"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 161}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"tags": [f"t{n}" for n in range(21)]}, "tags"),
        ({"tags": ["x" * 41]}, "tags"),
        ({"tags": "abc"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"description": "x" * 20_001}, "description"),
        ({"spec": {"note": "a\x00b"}}, "spec"),
    ],
)
def test_what_cannot_be_saved_names_its_field_and_leaves_nothing(team, alice, changes, field):
    content = {"kind": "toy", "spec": {}, "name": "Fleet", **changes}
    with pytest.raises(InvalidField) as caught:
        services.design_create(team=team, user=alice, **content)
    assert caught.value.field == field
    assert not Design.objects.exists()
    assert not AuditEntry.objects.filter(subject="design").exists()


def test_a_backslash_u_in_a_name_is_just_text(team, alice):
    assert services.design_create(team=team, user=alice, kind="toy", spec={}, name=r"a\u0000b").name == r"a\u0000b"


def test_tags_are_trimmed_lowered_and_unique_and_names_one_line(team, alice):
    made = services.design_create(
        team=team, user=alice, kind="toy", spec={}, name=" a \n  b ", tags=[" H800 ", "h800", "", "Night  shift"]
    )
    assert (made.name, made.tags) == ("a b", ["h800", "night shift"])


def test_a_save_makes_a_revision_and_counts_up(design, alice, team):
    saved = services.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 60}, name="Big")
    assert (saved.revision, saved.name, saved.spec["rate_rps"]) == (2, "Big", 60)
    assert saved.updated_at > design.updated_at
    assert [row.number for row in selectors.revisions(saved)] == [2, 1]
    assert audited(team) == ["created", "saved"]


def test_a_spec_is_replaced_not_merged(design, alice):
    saved = services.design_update(design=design, user=alice, expected_revision=1, spec={"unit_gpus": 8})
    assert saved.spec["rate_rps"] == 95


def test_saving_what_is_there_makes_no_revision(design, alice):
    saved = services.design_update(design=design, user=alice, expected_revision=1, spec=design.spec, tags=["h800"])
    assert saved.revision == 1
    assert Revision.objects.count() == 1


def test_a_stale_write_changes_nothing_and_tells_the_current_state(design, alice):
    services.design_update(design=design, user=alice, expected_revision=1, name="First")
    with pytest.raises(StaleWrite) as caught:
        services.design_update(design=design, user=alice, expected_revision=1, name="Second")
    assert (caught.value.current.name, caught.value.current.revision) == ("First", 2)
    assert Design.objects.get().name == "First"
    assert Revision.objects.count() == 2


def test_of_two_writers_who_both_passed_the_check_one_loses(design, alice, monkeypatch):
    """The revision is in the UPDATE's condition: a write between check and update is seen."""
    checked = services._current

    def overtaken(found, *, expected_revision):
        current = checked(found, expected_revision=expected_revision)
        Design.objects.filter(id=found.id).update(revision=2, name="Overtaker")
        return current

    monkeypatch.setattr(services, "_current", overtaken)
    with pytest.raises(StaleWrite) as caught:
        services.design_update(design=design, user=alice, expected_revision=1, name="Late")
    assert (caught.value.current.name, caught.value.current.revision) == ("Overtaker", 2)


@pytest.mark.parametrize("changes", [{"spec": {"rate_rps": -1}}, {"name": ""}])
def test_a_refused_save_leaves_the_design_as_it_was(design, alice, changes):
    with pytest.raises((ValidationError, InvalidField)):
        services.design_update(design=design, user=alice, expected_revision=1, **changes)
    assert Design.objects.get().revision == 1


def test_a_design_whose_spec_no_longer_passes_can_still_be_renamed(design, alice):
    Design.objects.update(spec={"field_of_old": 1})
    saved = services.design_update(design=design, user=alice, expected_revision=1, name="Renamed")
    assert (saved.name, saved.spec) == ("Renamed", {"field_of_old": 1})
    with pytest.raises(ValidationError):
        services.design_update(design=design, user=alice, expected_revision=2, spec=saved.spec)


def test_going_back_is_a_new_revision(design, alice):
    services.design_update(design=design, user=alice, expected_revision=1, spec={"rate_rps": 60}, name="Big")
    back = services.design_revert(design=design, user=alice, expected_revision=2, number=1)
    assert (back.revision, back.name, back.spec["rate_rps"]) == (3, "Fleet", 50)
    with pytest.raises(Revision.DoesNotExist):
        services.design_revert(design=design, user=alice, expected_revision=3, number=9)


def test_a_deleted_design_is_gone_until_restored(design, alice, team):
    services.design_delete(design=design, user=alice)
    with pytest.raises(Design.DoesNotExist):
        selectors.design(team, design.id)
    with pytest.raises(Design.DoesNotExist):
        services.design_update(design=design, user=alice, expected_revision=1, name="Zombie")
    assert list(selectors.designs(team)) == []
    assert list(selectors.designs(team, deleted=True)) == [design]
    services.design_restore(design=design, user=alice)
    assert selectors.design(team, design.id) == design
    assert audited(team) == ["created", "deleted", "restored"]


def test_restoring_ends_after_thirty_days_and_purging_removes(design, alice):
    Design.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    with pytest.raises(Design.DoesNotExist):
        services.design_restore(design=design, user=alice)
    assert services.designs_purge(now=timezone.now() - timedelta(days=2)) == 0
    assert services.designs_purge(now=timezone.now()) == 1
    assert not Design.objects.exists()


def test_a_delete_with_an_old_revision_is_stale(design, alice):
    services.design_update(design=design, user=alice, expected_revision=1, name="Second")
    with pytest.raises(StaleWrite):
        services.design_delete(design=design, user=alice, expected_revision=1)


def test_a_copy_is_a_design_of_its_own(design, alice):
    copy = services.design_copy(design=design, user=alice)
    assert copy.id != design.id
    assert (copy.name, copy.spec, copy.tags, copy.revision) == ("Fleet (copy)", design.spec, ["h800"], 1)


def test_a_copy_of_the_longest_name_fits(team, alice):
    design = services.design_create(team=team, user=alice, kind="toy", spec={}, name="x" * 160)
    assert len(services.design_copy(design=design, user=alice).name) <= 160


def test_search_looks_at_name_description_tags_and_kind(team, alice, design):
    other = services.design_create(
        team=team, user=alice, kind="other", spec={}, name="Deep", description="For the night shift", tags=["b200"]
    )
    assert set(selectors.designs(team)) == {design, other}
    assert list(selectors.designs(team, q="night deep")) == [other]
    assert list(selectors.designs(team, q="H800")) == [design]
    assert list(selectors.designs(team, kind="other")) == [other]
    assert list(selectors.designs(team, tag="B200")) == [other]
    assert selectors.tags(team) == ["b200", "h800"]


def test_a_stranger_finds_nothing(design, stranger, team, alice):
    comparison = services.comparison_create(team=team, user=alice, items=[{"design": str(design.id)}, {"kind": "toy"}])
    share = services.share_create(team=team, user=alice, design=design)
    assert not selectors.designs(stranger).exists()
    assert not selectors.comparisons(stranger).exists()
    assert not selectors.shares(stranger).exists()
    assert selectors.tags(stranger) == []
    for read, found, missing in (
        (selectors.design, design, Design.DoesNotExist),
        (selectors.comparison, comparison, Comparison.DoesNotExist),
        (selectors.share, share, type(share).DoesNotExist),
    ):
        assert read(team, found.id) == found
        with pytest.raises(missing):
            read(stranger, found.id)


def test_an_id_that_is_none_finds_nothing(team):
    with pytest.raises(Design.DoesNotExist):
        selectors.design(team, "not-a-uuid")
