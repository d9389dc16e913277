from __future__ import annotations

import datetime as dt

import pytest

from planner.accounts.models import AuditEntry
from planner.catalog import selectors, services
from planner.catalog.models import Entry, Workload
from planner.catalog.services import ImportProblem
from planner.core.catalog import MissingFigure, UnknownEntry
from planner.formulas import memory
from tests.catalog.importers.published import config as published_config

DEEPSEEK_V3, LLAMA_31_8B = published_config("deepseek-v3"), published_config("llama-3.1-8b")

pytestmark = pytest.mark.django_db

TRACE = b"arrival_s,input_tokens,output_tokens,prompt\n10,100,10,SECRET\n12,200,20,SECRET\n"
FIGURES = {"memory_bytes": 96e9, "memory_bytes_per_s": 3e12, "bf16_flops_per_s": 5e14, "tdp_w": 400}
DAY = dt.date(2026, 2, 3)


def problem(call, **arguments) -> ImportProblem:
    with pytest.raises(ImportProblem) as caught:
        call(**arguments)
    return caught.value


def test_an_uploaded_trace_becomes_a_workload_of_the_team(team):
    row = services.workload_import(team=team, name="My  trace", data=TRACE, filename="mine.csv")
    assert (row.team, row.slug, row.name, row.form) == (team, "my-trace", "My trace", "trace")
    assert (row.facts["requests"], row.facts["duration_s"], row.facts["input_tokens"]) == (2, 2, 150)
    columns = selectors.workload_columns(Workload.objects.get(pk=row.pk))
    assert columns.arrival_s.tolist() == [0, 2]
    assert columns.output_tokens.tolist() == [10, 20]
    assert columns.cached_tokens is None


def test_prompt_text_is_not_stored(team):
    row = Workload.objects.get(pk=services.workload_import(team=team, name="T", data=TRACE).pk)
    assert b"SECRET" not in bytes(row.columns)
    assert "SECRET" not in f"{row.facts}{row.description}{row.source}"


def test_a_bad_upload_names_line_and_field_and_keeps_nothing(team):
    found = problem(services.workload_import, team=team, name="T", data=TRACE + b"13,x,1,\n")
    assert (found.line, found.field) == (4, "input_tokens")
    assert not Workload.objects.exists()
    assert not AuditEntry.objects.exists()


def test_the_limits_are_those_of_the_settings(team, settings):
    settings.UPLOAD_MAX_BYTES, settings.UPLOAD_MAX_ROWS = 1000, 2
    assert problem(services.workload_import, team=team, name="T", data=b"x" * 1001).field == "file"
    assert problem(services.workload_import, team=team, name="T", data=TRACE + b"13,1,1,\n").line == 4
    services.workload_import(team=team, name="T", data=TRACE)


@pytest.mark.parametrize("name", ["", "   ", "…", "-", "x" * 121])
def test_a_name_that_gives_no_slug_or_is_too_long_is_refused(team, name):
    assert problem(services.workload_import, team=team, name=name, data=TRACE).field == "name"


def test_a_second_workload_of_a_name_gets_its_own_slug(team):
    slugs = [services.workload_import(team=team, name="T", data=TRACE).slug for _ in range(3)]
    assert slugs == ["t", "t-2", "t-3"]
    assert services.workload_import(team=team, name="Chat reference", data=TRACE).slug == "chat-reference-2"


def test_a_profile_keeps_the_facts_of_a_design(team):
    facts = {"peak_rps": 500, "input_tokens": 3000.0, "output_tokens": 800, "prefix_hit_rate": 0.5, "rate_rps": None}
    row = services.workload_save_profile(team=team, name="Chat", facts=facts)
    assert row.form == "profile"
    assert row.facts == {"peak_rps": 500, "input_tokens": 3000, "output_tokens": 800, "prefix_hit_rate": 0.5}
    assert selectors.workload_profile(row)["rate_rps"] == 500
    with pytest.raises(ValueError, match="profile"):
        selectors.workload_columns(row)


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({}, "facts"),
        ({"input_tokens": None}, "facts"),
        ({"speed": 1}, "speed"),
        ({"input_tokens": "many"}, "input_tokens"),
        ({"input_tokens": True}, "input_tokens"),
        ({"input_tokens": float("nan")}, "input_tokens"),
        ({"input_tokens": -1}, "input_tokens"),
        ({"prefix_hit_rate": 1.1}, "prefix_hit_rate"),
    ],
)
def test_a_bad_fact_is_named(team, facts, field):
    assert problem(services.workload_save_profile, team=team, name="Chat", facts=facts).field == field
    assert not Workload.objects.exists()


def test_a_team_deletes_its_own_workload_and_no_other(team, strangers):
    own = services.workload_import(team=team, name="T", data=TRACE)
    shipped = Workload.objects.create(slug="shipped", name="Shipped", form="profile")
    for row, whose in ((own, strangers), (shipped, team)):
        with pytest.raises(UnknownEntry):
            services.workload_delete(workload=row, team=whose)
    services.workload_delete(workload=own, team=team)
    assert list(Workload.objects.all()) == [shipped]


def test_an_llm_comes_from_its_configuration(team):
    entry = services.llm_import(team=team, name="My V3", config=DEEPSEEK_V3, as_of=DAY)
    assert (entry.team, entry.table, entry.slug, entry.group) == (team, "llms", "my-v3", "DeepSeek")
    assert entry.payload["architecture"]["as_of"] == "2026-02-03"
    llm = selectors.catalog(team).llm("My-V3")
    assert llm.native_dtype == "fp8"
    assert memory.parameters(llm)["total"] == pytest.approx(671e9, rel=0.001)
    assert selectors.llm_facts(llm)["kv_bytes_per_token"]["bf16"] == 70_272


def test_an_llm_of_a_name_is_replaced(team):
    services.llm_import(team=team, name="Mine", config=DEEPSEEK_V3)
    services.llm_import(team=team, name="Mine", config=LLAMA_31_8B)
    assert Entry.objects.get(table="llms", team=team).group == "Llama"
    assert selectors.catalog(team).llm("mine").layers == 32


def test_a_bad_configuration_keeps_nothing(team):
    assert problem(services.llm_import, team=team, name="X", config={"architectures": ["Odd"]}).field == "architectures"
    config = DEEPSEEK_V3 | {"num_experts_per_tok": 300}
    assert "300" in problem(services.llm_import, team=team, name="X", config=config).message
    assert not Entry.objects.exists()


def test_a_gpu_and_its_price_come_from_a_form(team):
    entry = services.gpu_save(
        team=team, name="Lab card", figures={**FIGURES, "fp8_flops_per_s": None}, price_usd_per_h=1.25, as_of=DAY
    )
    assert (entry.slug, entry.group) == ("lab-card", "Own Own")
    catalog = selectors.catalog(team)
    gpu = catalog.gpu("LAB_CARD")
    assert gpu.figure("bf16_flops_per_s") == 5e14
    assert gpu.figures["tdp_w"].unit == "W"
    assert gpu.figures["memory_bytes"].as_of == "2026-02-03"
    assert gpu.figures["visible_memory_bytes"].is_estimate
    assert gpu.figure("visible_memory_bytes") == 96e9
    with pytest.raises(MissingFigure):
        gpu.figure("fp8_flops_per_s")
    assert (catalog.price("lab-card").usd_per_h, catalog.price("lab-card").market) == (1.25, "team")


def test_a_gpu_saved_without_a_price_loses_the_old_one(team):
    services.gpu_save(team=team, name="Lab card", figures=FIGURES, price_usd_per_h=1.25)
    services.gpu_save(team=team, name="Lab card", figures={**FIGURES, "tdp_w": 500})
    assert selectors.catalog(team).price("lab-card") is None
    assert selectors.catalog(team).gpu("lab-card").figure("tdp_w") == 500


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"memory_bytes": None}, "memory_bytes"),
        ({"memory_bytes_per_s": -1}, "memory_bytes_per_s"),
        ({"memory_bytes_per_s": float("inf")}, "memory_bytes_per_s"),
        ({"memory_bytes_per_s": "fast"}, "memory_bytes_per_s"),
        ({"speed": 1}, "speed"),
        ({"memory_bytes": 80}, "memory_bytes"),  # a slip of the unit
        ({"tdp_w": 1e308}, "tdp_w"),
    ],
)
def test_a_bad_figure_is_named_and_nothing_kept(team, change, field):
    assert problem(services.gpu_save, team=team, name="X", figures=FIGURES | change).field == field
    assert not Entry.objects.exists()


def test_a_bad_price_keeps_the_gpu_out_too(team):
    assert problem(services.gpu_save, team=team, name="X", figures=FIGURES, price_usd_per_h=-1).field == "price"
    assert not Entry.objects.exists()


def test_every_figure_of_a_gpu_has_its_unit():
    for name, unit in services.FIGURE_UNITS.items():
        assert unit in ("bytes", "bytes/s", "FLOP/s", "OP/s", "GPUs", "W"), name
    assert services.FIGURE_UNITS["memory_bytes_per_s"] == "bytes/s"
    assert services.FIGURE_UNITS["int8_ops_per_s"] == "OP/s"


def test_a_team_deletes_its_gpu_with_its_price_and_nobody_elses(team, strangers):
    entry = services.gpu_save(team=team, name="Lab card", figures=FIGURES, price_usd_per_h=1)
    with pytest.raises(UnknownEntry):
        services.entry_delete(entry=entry, team=strangers)
    services.entry_delete(entry=entry, team=team)
    assert not Entry.objects.exists()
    with pytest.raises(UnknownEntry):
        selectors.catalog(team).gpu("lab-card")


def test_changes_are_in_the_audit_trail(team, django_user_model):
    user = django_user_model.objects.create(username="ana")
    row = services.workload_import(team=team, user_id=user.pk, name="T", data=TRACE)
    services.workload_delete(workload=row, team=team, user_id=user.pk)
    services.gpu_save(team=team, user_id=user.pk, name="Lab card", figures=FIGURES)
    trail = (
        AuditEntry.objects.filter(team=team, user=user).order_by("pk").values_list("action", "subject", "subject_id")
    )
    assert list(trail) == [("create", "workload", "t"), ("delete", "workload", "t"), ("save", "gpus", "lab-card")]


def test_a_chinese_name_is_kept_and_two_of_them_stay_apart(team):
    first = services.llm_import(team=team, name="实验 8B", config=LLAMA_31_8B)
    second = services.llm_import(team=team, name="正式 8B", config=LLAMA_31_8B)
    assert first.slug != second.slug
    assert {first.name, second.name} == {"实验 8B", "正式 8B"}
    assert services.llm_import(team=team, name="实验 8B", config=DEEPSEEK_V3).pk == first.pk
    assert selectors.catalog(team).llm("实验 8B").slug == first.slug
    assert services.workload_import(team=team, name="早高峰", data=TRACE).slug


@pytest.mark.parametrize("text", ["zero \0 byte", "half \ud800 letter", "bell \a"])
def test_what_the_database_cannot_hold_is_refused_or_shown_harmless(team, text):
    assert problem(services.gpu_save, team=team, name=text, figures=FIGURES).field == "name"
    assert problem(services.gpu_save, team=team, name="X", figures=FIGURES, notes=text).field == "notes"
    assert problem(services.gpu_save, team=team, name="X", figures=FIGURES | {text: 1}).message
    config = LLAMA_31_8B | {"_name_or_path": text}
    assert problem(services.llm_import, team=team, name="X", config=config).field == "hf_id"
    facts = {"input_tokens": 1}
    found = problem(services.workload_save_profile, team=team, name="X", facts=facts, description=text)
    assert found.field == "description"
    services.workload_import(team=team, name="X", data=TRACE, filename=text)
    assert not selectors.entries("gpus", team=team, q=text, filters={"vendor": text}).exists()
    for lookup in (selectors.workload, lambda name, team: selectors.entry("gpus", name, team=team)):
        with pytest.raises(UnknownEntry) as caught:
            lookup(text, team=team)
        assert caught.value


def test_odd_keys_of_a_trace_never_reach_a_message_or_the_facts(team):
    odd = b'{"arrival": 0, "input\\ud800_tokens": 1, "output_tokens": 1}'
    str(problem(services.workload_import, team=team, name="X", data=odd)).encode()
    extra = b'{"arrival": 0, "input_tokens": 1, "output_tokens": 1, "a\\u0000\\ud800": 1}'
    row = services.workload_import(team=team, name="X", data=extra)
    assert row.facts["ignored_columns"] == ["a\ufffd\ufffd"]
