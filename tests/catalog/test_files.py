from __future__ import annotations

import pytest

from planner.catalog import files
from planner.catalog.files import CatalogFileError
from planner.core.catalog import MissingFigure, UnknownEntry
from tests.catalog.conftest import ENGINE, GPU, PRICE, figure, write


def refused(folder) -> CatalogFileError:
    with pytest.raises(CatalogFileError) as caught:
        files.load(folder)
    return caught.value


def test_a_good_folder_is_read(folder):
    catalog = files.load(folder)
    gpu = catalog.gpu("toy-gpu")
    assert (gpu.name, gpu.vendor, gpu.aliases) == ("Toy GPU", "Toys", ("TG-1",))
    assert gpu.figure("memory_bytes") == 80e9
    assert gpu.figures["memory_bytes"].source == "data sheet"
    assert catalog.price("TG 1").usd_per_h == 2.5
    assert catalog.as_of == "2026-01"


def test_a_missing_figure_is_raised_not_guessed(folder):
    with pytest.raises(MissingFigure, match=r"fp8_flops_per_s.*toy-gpu"):
        files.load(folder).gpu("toy-gpu").figure("fp8_flops_per_s")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("memory_bytes_per_s =", "memory_byte_per_s =", "figures.memory_byte_per_s"),
        ('vendor = "Toys"', 'vendr = "Toys"', "vendr"),
        ('vendor = "Toys"', "vendor = 7", "vendor"),
        ('unit = "FLOP/s", ', "", "figures.bf16_flops_per_s.unit"),
        ('unit = "FLOP/s"', 'unit = "TFLOP/s"', "figures.bf16_flops_per_s"),
        ('unit = "FLOP/s", source = "data sheet"', 'unit = "FLOP/s"', "figures.bf16_flops_per_s.source"),
        ('unit = "FLOP/s", source = "data sheet"', 'unit = "FLOP/s", source = ""', "figures.bf16_flops_per_s.source"),
        ('unit = "FLOP/s", source = "data sheet", as_of = "2026-01"', 'unit = "FLOP/s", source = "x"', "as_of"),
        ("300000000000000.0", '"3e14"', "figures.bf16_flops_per_s.value"),
        ("300000000000000.0", "true", "figures.bf16_flops_per_s.value"),
        ("300000000000000.0", "nan", "figures.bf16_flops_per_s.value"),
        ("300000000000000.0", "-3e14", "figures.bf16_flops_per_s"),
        ('as_of = "2026-01" }\nmemory_bytes_per_s', 'as_of = "January" }\nmemory_bytes_per_s', "memory_bytes.as_of"),
        ('slug = "toy-gpu"', 'slug = "Toy GPU"', "slug"),
        ('slug = "toy-gpu"', 'slug = "another-gpu"', "slug"),
    ],
)
def test_a_mistake_is_refused_by_file_and_key(folder, old, new, key):
    assert old in GPU
    write(folder, "gpus/toy-gpu.toml", GPU.replace(old, new))
    problem = refused(folder)
    assert problem.file == "gpus/toy-gpu.toml"
    assert any(key in found for found, _ in problem.problems)
    assert "gpus/toy-gpu.toml" in str(problem)
    assert key in str(problem)


def test_broken_toml_is_refused_by_file_and_line(folder):
    write(folder, "gpus/toy-gpu.toml", GPU.replace('name = "Toy GPU"', 'name = "Toy GPU'))
    problem = refused(folder)
    assert problem.file == "gpus/toy-gpu.toml"
    assert "line" in str(problem)


def test_a_slug_used_twice_is_refused(folder):
    write(folder, "prices/other/toy-gpu-shop-on-demand.toml", PRICE)
    assert "is also in" in str(refused(folder))


def test_an_alias_of_two_entries_is_refused(folder):
    second = GPU.replace("toy-gpu", "second-gpu").replace("Toy GPU", "Second")
    write(folder, "gpus/second-gpu.toml", second.replace("TG-1", "SG-1"))
    files.load(folder)
    write(folder, "gpus/second-gpu.toml", second.replace("TG-1", "TOY_GPU"))
    problem = refused(folder)
    assert "already means" in str(problem)
    assert problem.problems[0][0] == "aliases"


def test_a_price_of_an_unknown_gpu_is_refused(folder):
    write(folder, "prices/toy-gpu/toy-gpu-shop-on-demand.toml", PRICE.replace('gpu = "toy-gpu"', 'gpu = "no-gpu"'))
    assert "no-gpu" in str(refused(folder))


def test_a_folder_that_is_no_table_is_refused(folder):
    write(folder, "gpu/toy-gpu.toml", GPU)
    assert "no table has this name" in str(refused(folder))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (figure(16, "tokens"), "16", "settings.block_size"),
        (', unit = "sequences"', "", "settings.by_gpu.0.max_num_seqs"),
    ],
)
def test_a_bare_number_among_engine_settings_is_refused_by_its_path(folder, old, new, key):
    assert old in ENGINE
    write(folder, "engines/toy-engine.toml", ENGINE.replace(old, new))
    assert key in str(refused(folder))


def test_engine_settings_are_plain_values_with_their_figures_beside(folder):
    engine = files.load(folder).engine("Toy Engine")
    assert engine.settings == {"hybrid_cache": "pages", "block_size": 16, "by_gpu": [{"max_num_seqs": 256}]}
    assert engine.figures["by_gpu.0.max_num_seqs"].unit == "sequences"


def test_a_calibration_is_any_table_and_an_unknown_one_is_named(folder):
    catalog = files.load(folder)
    assert catalog.calibration("anything")["group"]["mfu"] == 0.5
    with pytest.raises(UnknownEntry, match="did you mean anything"):
        catalog.calibration("anythin")


def test_the_digest_follows_the_content_and_only_the_content(folder):
    before = files.load(folder).digest
    assert files.load(folder).digest == before
    write(folder, "gpus/toy-gpu.toml", "# a comment\n" + GPU)
    assert files.load(folder).digest == before
    write(folder, "gpus/toy-gpu.toml", GPU.replace("data sheet", "another sheet"))
    changed = files.load(folder).digest
    assert changed != before
    write(folder, "calibrations/anything.toml", "[group]\nmfu = 0.6\n")
    assert files.load(folder).digest not in (before, changed)


@pytest.mark.parametrize(
    "name", ["h100-sxm", "H100 SXM", "h100_sxm", "H100", "H100-80GB-SXM5", "nvidia h100 80gb hbm3"]
)
def test_vendor_spellings_name_the_same_gpu(shipped, name):
    assert shipped.gpu(name).slug == "h100-sxm"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("llama-3.1-8b", "llama-3-1-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3-1-8b"),
        ("Meta-Llama-3.1-70B", "llama-3-1-70b"),
        ("DeepSeek-V3", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("Qwen/Qwen3-32B-FP8", "qwen3-32b"),
    ],
)
def test_hugging_face_ids_and_plain_names_name_the_llm(shipped, name, slug):
    assert shipped.llm(name).slug == slug


@pytest.mark.parametrize("name", ["tensorrt_llm", "TensorRT-LLM", "trtllm"])
def test_engine_spellings_name_the_same_engine(shipped, name):
    assert shipped.engine(name).slug == "tensorrt_llm"


def test_an_unknown_name_suggests_the_nearest(shipped):
    with pytest.raises(UnknownEntry) as caught:
        shipped.llm("lama-3.1-8b")
    assert caught.value.table == "llms"
    assert caught.value.nearest[0] == "llama-3-1-8b"
    assert "did you mean llama-3-1-8b" in str(caught.value)


def test_names_that_differ_in_digits_stay_apart(shipped):
    with pytest.raises(UnknownEntry):
        shipped.llm("qwen2-57b")
    assert shipped.llm("qwen2.5-7b").slug == "qwen2-5-7b"


def test_a_long_or_unprintable_name_is_answered_quickly_and_harmlessly(shipped):
    for name in ("x" * 1_000_000, "half \ud800 letter", "zero \0"):
        with pytest.raises(UnknownEntry) as caught:
            shipped.gpu(name)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 400


EURO = f"""
slug = "eur"
name = "Euro"
code = "EUR"
rates = [{figure(1.2, "USD")}, {figure(1.1, "USD").replace("2026-01", "2025-01")}]
"""


def test_a_price_in_another_currency_is_worth_what_that_was_at_its_date(folder):
    write(folder, "currencies/eur.toml", EURO)
    abroad = PRICE.replace("USD/h", "EUR/h").replace("toy-gpu-shop", "toy-gpu-laden")
    write(folder, "prices/toy-gpu-laden-on-demand.toml", 'currency = "EUR"\nregion = "Paris"\n' + abroad)
    price = next(each for each in files.load(folder).prices() if each.region)
    assert (price.usd_per_h, price.per_h, price.currency) == (3.0, 2.5, "EUR")
    euro = files.load(folder).currency("EUR")
    assert [euro.rate(at).value for at in ("2024-06", "2025-06-30", "2026-06", "")] == [1.1, 1.1, 1.2, 1.2]


def test_a_price_in_a_currency_without_a_rate_is_refused(folder):
    write(folder, "prices/toy-gpu/toy-gpu-shop-on-demand.toml", 'currency = "EUR"\n' + PRICE.replace("USD/h", "EUR/h"))
    with pytest.raises(files.CatalogFileError, match="currency: no entry “EUR”"):
        files.load(folder)


def test_the_unit_of_a_price_is_its_currency(folder):
    write(folder, "prices/toy-gpu/toy-gpu-shop-on-demand.toml", PRICE.replace("USD/h", "EUR/h"))
    with pytest.raises(files.CatalogFileError, match="the unit must be USD/h, not EUR/h"):
        files.load(folder)
