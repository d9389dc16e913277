from __future__ import annotations

import uuid

import pytest

from planner.catalog import selectors, services
from planner.catalog.models import Entry
from planner.core.catalog import UnknownEntry
from tests.catalog.importers.published import config as published_config
from tests.catalog.test_services import FIGURES, TRACE


@pytest.fixture
def loaded(db):
    services.catalog_load()


@pytest.fixture
def ours(team, loaded):
    """A GPU, an LLM and a trace of the team."""
    services.gpu_save(team=team, name="Lab card", figures=FIGURES, price_usd_per_h=1.25)
    services.llm_import(team=team, name="Secret LLM", config=published_config("llama-3.1-8b"))
    return services.workload_import(team=team, name="Secret trace", data=TRACE)


def test_a_stranger_sees_nothing_of_a_team(ours, team, strangers):
    for whose in (strangers, None):
        catalog = selectors.catalog(whose)
        for lookup, name in ((catalog.gpu, "lab-card"), (catalog.llm, "secret-llm"), (catalog.price, "lab-card")):
            with pytest.raises(UnknownEntry) as caught:
                lookup(name)
            assert "lab-card" not in caught.value.nearest
        for table, slug in (("gpus", "lab-card"), ("llms", "secret-llm"), ("prices", "lab-card-team")):
            assert not selectors.entries(table, team=whose, q=slug.replace("-", " ")).exists()
            with pytest.raises(UnknownEntry):
                selectors.entry(table, slug, team=whose)
        assert not selectors.workloads(whose).filter(team=team).exists()
        for name in (ours.slug, ours.pk, str(ours.pk)):
            with pytest.raises(UnknownEntry) as caught:
                selectors.workload(name, team=whose)
            assert "secret-trace" not in caught.value.nearest


def test_a_team_sees_the_files_and_its_own(ours, team):
    catalog = selectors.catalog(team)
    assert catalog.gpu("Lab Card").name == "Lab card"
    assert catalog.gpu("h100").slug == "h100-sxm"
    assert len(catalog.gpus()) == len(selectors.catalog().gpus()) + 1
    assert selectors.entry("gpus", "LAB_CARD", team=team).team == team
    assert selectors.entry("gpus", "H100 SXM", team=team).team is None
    assert selectors.workload("secret-trace", team=team) == ours
    assert selectors.workload(str(ours.pk), team=team) == ours


def test_the_digest_of_a_team_follows_its_entries(ours, team, strangers):
    files_only = selectors.catalog().digest
    assert selectors.catalog(strangers).digest == files_only
    mine = selectors.catalog(team).digest
    assert mine != files_only
    services.gpu_save(team=team, name="Lab card", figures={**FIGURES, "tdp_w": 500}, price_usd_per_h=1.25)
    assert selectors.catalog(team).digest not in (mine, files_only)


def test_an_entry_of_a_team_hides_the_built_in_of_its_slug(loaded, team, strangers):
    services.gpu_save(team=team, name="H100 SXM", figures=FIGURES)
    assert selectors.catalog(team).gpu("h100-sxm").figure("memory_bytes") == 96e9
    assert selectors.catalog(strangers).gpu("h100-sxm").figure("memory_bytes") == 80e9
    found = selectors.entries("gpus", team=team).filter(slug="h100-sxm")
    assert [row.team for row in found] == [team]
    assert selectors.entry("gpus", "h100-sxm", team=team).team == team
    assert selectors.entry("gpus", "h100-sxm", team=strangers).team is None


def test_an_unchanged_catalog_is_the_same_object_and_asks_once_a_second(
    loaded, team, django_assert_num_queries, monkeypatch
):
    selectors.forget(team)
    services.gpu_save(team=team, name="Lab card", figures=FIGURES)
    now = [100.0]
    monkeypatch.setattr(selectors.time, "monotonic", lambda: now[0])
    first = selectors.catalog(team)
    with django_assert_num_queries(0):
        assert selectors.catalog(team) is first
        assert selectors.catalog() is selectors.catalog()
    now[0] += 1.1
    with django_assert_num_queries(2):  # its entries and its traces
        assert selectors.catalog(team) is first


def test_a_change_by_another_process_is_seen_after_a_second(loaded, team, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(selectors.time, "monotonic", lambda: now[0])
    services.gpu_save(team=team, name="Lab card", figures=FIGURES)
    assert selectors.catalog(team).gpu("lab-card")
    Entry.objects.filter(team=team).delete()  # behind the back of this process
    now[0] += 1.1
    with pytest.raises(UnknownEntry):
        selectors.catalog(team).gpu("lab-card")


def test_an_entry_that_an_older_version_stored_is_left_out_not_fatal(loaded, team):
    services.gpu_save(team=team, name="Lab card", figures=FIGURES)
    Entry.objects.create(table="gpus", slug="old", name="Old", team=team, payload={"slug": "old", "speed": 1})
    selectors.forget(team)
    assert selectors.catalog(team).gpu("lab-card")
    with pytest.raises(UnknownEntry):
        selectors.catalog(team).gpu("old")


@pytest.mark.parametrize("words", ["h100 sxm", "H100_SXM", "hopper 80", "NVIDIA-H100-SXM-80GB"])
def test_a_search_finds_by_any_spelling(loaded, words):
    assert "h100-sxm" in selectors.entries("gpus", team=None, q=words).values_list("slug", flat=True)


def test_a_search_needs_every_word(loaded):
    assert not selectors.entries("gpus", team=None, q="h100 radeon").exists()
    assert selectors.entries("llms", team=None, q="qwen3 coder").count() == 1


def test_entries_are_filtered_by_what_their_table_has(loaded):
    amd = selectors.entries("gpus", team=None, filters={"vendor": "AMD", "architecture": ""})
    assert amd
    assert all(row.payload["vendor"] == "AMD" for row in amd)
    spot = selectors.entries("prices", team=None, filters={"gpu": "h100-sxm", "commitment": "spot"})
    assert {row.payload["provider"] for row in spot} == {"Nebius", "Crusoe", "CoreWeave", "Google Cloud"}
    there = selectors.entries("prices", team=None, filters={"region": "us-central1", "provider": "Google Cloud"})
    assert {row.payload["commitment"] for row in there} == {"on_demand", "spot"}
    assert selectors.entries("gpus", team=None, filters={"group": "NVIDIA Hopper"}).filter(slug="h20").exists()
    with pytest.raises(ValueError, match="colour"):
        selectors.entries("gpus", team=None, filters={"colour": "green"})


@pytest.mark.parametrize("table", ["nothing", "", "calibrations"])
def test_an_unknown_table_is_an_unknown_entry(loaded, table):
    with pytest.raises(UnknownEntry):
        selectors.entry(table, "h100-sxm", team=None)


@pytest.mark.parametrize("name", ["azure-2023-conversation", "azure2023_conv", "Azure 2023, conversation"])
def test_a_shipped_trace_answers_to_its_names_and_gives_its_requests(loaded, team, name):
    row = selectors.workload(name, team=team)
    columns = selectors.workload_columns(row)
    assert columns.requests == 19_366
    assert columns.arrival_s[0] == 0
    assert (columns.arrival_s[1:] >= columns.arrival_s[:-1]).all()
    assert "Azure" in columns.source
    assert row.licence == "CC BY 4.0"
    assert "Microsoft" in row.facts["attribution"]


def test_listing_workloads_leaves_the_columns_in_the_database(loaded, team, django_assert_num_queries):
    with django_assert_num_queries(1):
        names = [row.name for row in selectors.workloads(team)]
    assert names == sorted(names)
    assert "Mooncake, conversation" in names


HASHED = (
    '{"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [7, 8]}\n'
    '{"timestamp": 9, "input_length": 1024, "output_length": 5, "hash_ids": [7, 9]}\n'
)


def test_estimates_read_a_teams_trace_and_its_digest_tells(loaded, team, strangers):
    before = selectors.catalog(team).digest
    row = services.workload_import(team=team, name="Ours", data=HASHED.encode())
    mine = selectors.catalog(team)
    assert mine.digest != before
    assert mine.workload(row.slug).blocks.ids.tolist() == [0, 1, 0, 2]
    assert mine.workload(row.slug) is mine.workload(row.slug)
    assert mine.workload("mooncake-conversation") is selectors.shipped().workload("mooncake-conversation")
    with pytest.raises(UnknownEntry):
        selectors.catalog(strangers).workload(row.slug)
    services.workload_delete(workload=row, team=team)
    assert selectors.catalog(team).digest == before


def test_a_profile_and_a_trace_fill_the_same_fields(loaded):
    reference = selectors.workload_profile(selectors.workload("chat-reference", team=None))
    assert reference == {"rate_rps": 500, "input_tokens": 3000, "output_tokens": 800, "prefix_hit_rate": 0.5}
    mooncake = selectors.workload_profile(selectors.workload("mooncake-conversation", team=None))
    assert set(mooncake) == set(reference)
    assert mooncake["rate_rps"] == pytest.approx(12_031 / 3537, rel=0.001)


def test_an_unknown_workload_suggests_the_nearest(loaded):
    with pytest.raises(UnknownEntry, match="azure-2023-code"):
        selectors.workload("azure-2023-cod", team=None)
    with pytest.raises(UnknownEntry):
        selectors.workload(uuid.uuid4(), team=None)


def test_llm_facts_are_json_and_follow_the_architecture(shipped):
    facts = selectors.llm_facts(shipped.llm("deepseek-v3"), shipped)
    assert facts["kv_bytes_per_token"] == {"bf16": 70_272, "fp8": 35_136}
    assert facts["kv_split_by_tensor_parallel"] is False
    assert facts["parameters"]["total"] == pytest.approx(671e9, rel=0.001)
    assert sum(facts["parameters_by_part"].values()) == pytest.approx(facts["parameters"]["total"])
    assert abs(facts["published_difference"]) < 0.001
    assert facts["weight_bytes"]["bf16"] == pytest.approx(2 * 671e9, rel=0.001)
    assert next(iter(facts["weight_bytes"])) == "fp8"
    assert facts["gpus_to_hold_weights"]["h100-sxm"] == -(-facts["weight_bytes"]["fp8"] // (79.19 * 2**30))


def test_the_cache_of_an_llm_with_windows_is_a_curve(shipped):
    facts = selectors.llm_facts(shipped.llm("gpt-oss-20b"))
    per_layer = 2 * 8 * 64 * 2
    by_length = {point["tokens"]: point["bytes"] for point in facts["kv_bytes_by_length"]}
    assert by_length[1024] == per_layer * (12 * 1024 + 12 * 128)
    assert facts["kv_bytes_per_token"]["bf16"] == 12 * per_layer
    assert "gpus_to_hold_weights" not in facts
