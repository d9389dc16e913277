"""Coefficients as they are read: by engine, by generation, with their trust."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.formulas import calibration
from tests.formulas.llms import LLAMA_8B, gpu
from tests.formulas.test_roofline import TABLE


def test_engines_and_generations_have_their_own_values() -> None:
    row = TABLE["coefficient"]
    hopper, blackwell = gpu(), replace(gpu(), architecture="Blackwell Ultra")
    vllm = calibration.coefficients(TABLE, gpu=hopper, engine="vllm")
    assert vllm.weights_read == row["weights_read"]["engine"]["vllm"]
    assert vllm.latent_layer_s == row["latent_layer_s"]["generation"]["hopper"]
    newer = calibration.coefficients(TABLE, gpu=blackwell, engine="vllm")
    assert newer.latent_layer_s == row["latent_layer_s"]["generation"]["blackwell"]


def test_an_engine_without_its_own_takes_the_common_value() -> None:
    unknown = calibration.coefficients(TABLE, gpu=gpu(), engine="another")
    assert unknown.queue == TABLE["coefficient"]["queue"]["value"]


def test_both_spellings_of_an_engine_are_one() -> None:
    spellings = [calibration.coefficients(TABLE, gpu=gpu(), engine=name) for name in ("tensorrt-llm", "tensorrt_llm")]
    assert spellings[0] == spellings[1]


@pytest.mark.parametrize(("slug", "calibrated"), [("llama-3-1-8b", True), ("never-measured", False)])
def test_only_measured_llms_are_called_calibrated(slug: str, calibrated: bool) -> None:
    llm = replace(LLAMA_8B, slug=slug)
    trust = calibration.trust(TABLE, llm=llm, gpu=gpu(), engine="tensorrt-llm", precision="bf16")
    assert trust.calibrated is calibrated
    interval = TABLE["interval"]["seen" if calibrated else "unseen"]
    assert (trust.tpot, trust.ttft, trust.throughput) == (interval["tpot"], interval["ttft"], interval["throughput"])


def test_every_coefficient_says_its_unit_and_spread() -> None:
    for name, row in TABLE["coefficient"].items():
        assert row["value"] >= 0, name
        assert row["unit"] in ("1", "s"), name
        assert 0 < row["spread"] <= 1, name
