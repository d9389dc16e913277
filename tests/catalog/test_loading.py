from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from planner.catalog import files, loading, selectors, services
from planner.catalog.files import CatalogFileError
from planner.catalog.models import Entry, Workload
from tests.catalog.conftest import GPU, write

pytestmark = pytest.mark.django_db


def state() -> tuple[dict, dict]:
    entries = {(row.table, row.slug): (row.pk, row.updated_at, row.payload) for row in Entry.objects.all()}
    return entries, {row.slug: (row.pk, row.created_at) for row in Workload.objects.all()}


def test_a_load_brings_every_file_into_the_database(shipped):
    loaded = services.catalog_load()
    tables = ("gpus", "llms", "links", "engines", "prices", "api_prices", "currencies")
    for table in tables:
        assert Entry.objects.filter(table=table, team=None).count() == len(shipped.records(table))
    assert set(Workload.objects.values_list("slug", flat=True)) == {row.slug for row in shipped.records("workloads")}
    assert loaded.created == Entry.objects.count() + Workload.objects.count()
    gpu = Entry.objects.get(table="gpus", slug="h100-sxm")
    assert (gpu.name, gpu.group) == ("H100 SXM, 80 GB", "NVIDIA Hopper")
    assert gpu.payload["figures"]["memory_bytes"]["source"]


def test_a_second_load_changes_nothing():
    services.catalog_load()
    before = state()
    loaded = services.catalog_load()
    assert (loaded.created, loaded.updated, loaded.removed) == (0, 0, 0)
    assert loaded.unchanged == len(before[0]) + len(before[1])
    assert state() == before


def test_a_load_follows_the_files_and_keeps_the_rows_identity(folder):
    loading.load_rows(files.load(folder))
    first = Entry.objects.get(table="gpus")
    write(folder, "gpus/toy-gpu.toml", GPU.replace("Toy GPU", "Renamed"))
    (folder / "prices/toy-gpu/toy-gpu-shop-on-demand.toml").unlink()
    loaded = loading.load_rows(files.load(folder))
    assert (loaded.created, loaded.updated, loaded.removed, loaded.unchanged) == (0, 1, 1, 1)
    second = Entry.objects.get(table="gpus")
    assert (second.pk, second.name) == (first.pk, "Renamed")
    assert second.updated_at > first.updated_at
    assert not Entry.objects.filter(table="prices").exists()


def test_a_load_leaves_the_entries_of_teams_alone(team, folder):
    services.gpu_save(team=team, name="Ours", figures={"memory_bytes": 8e10, "memory_bytes_per_s": 2e12})
    own = Workload.objects.create(team=team, slug="ours", name="Ours", form="profile", facts={})
    loading.load_rows(files.load(folder))
    assert Entry.objects.filter(team=team, slug="ours").exists()
    assert Workload.objects.filter(pk=own.pk).exists()


def test_a_shipped_trace_that_does_not_match_its_print_stops_the_load_and_keeps_nothing(folder):
    name = "azure-2023-code"
    text = (files.DATA / f"workloads/{name}.toml").read_text()
    write(folder, f"workloads/{name}.toml", text)
    (folder / f"workloads/{name}.csv.gz").write_bytes(b"something else")
    with pytest.raises(CatalogFileError, match=f"{name}.*sha256"):
        loading.load_rows(files.load(folder))
    assert not Entry.objects.exists()


def test_the_command_says_what_it_did_and_can_be_repeated(capsys):
    call_command("load_catalog")
    assert "0 unchanged" in capsys.readouterr().out
    call_command("load_catalog")
    assert "0 entries created, 0 updated, 0 removed" in capsys.readouterr().out


def test_the_command_fails_in_a_sentence_on_a_bad_file(folder, monkeypatch):
    write(folder, "gpus/toy-gpu.toml", GPU.replace("vendor", "vendr"))
    monkeypatch.setattr(selectors.files, "load", lambda: load_from(folder))
    try:
        with pytest.raises(CommandError, match=r"gpus/toy-gpu.toml: .*vendr"):
            call_command("load_catalog")
    finally:
        selectors.shipped.cache_clear()


def load_from(folder, *, load=files.load):
    return load(folder)
