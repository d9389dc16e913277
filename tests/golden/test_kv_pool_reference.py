"""The reference pool of the published exercise: every figure exactly, from the default spec."""

from __future__ import annotations

from fractions import Fraction

import pytest

from planner import kinds
from planner.catalog import files
from planner.core.result import Result

CONTEXT, KV = 8192, 160_000
SESSION = CONTEXT * KV
# The reference: 16 nodes; a node has 8 × 40 GB of HBM, 1.5 TB of DRAM and 60 TB of SSD; 70.6e9 parameters on 8 GPUs of
# 989e12 FLOP/s at 50 %; DRAM is read at 8 × 50, SSD at 8 × 6 GB/s.
EXACT = {
    "session_kv_bytes": Fraction(1_310_720_000),
    "hbm_sessions": Fraction(16 * 8 * 40 * 10**9, SESSION),
    "dram_sessions": Fraction(16 * 1500 * 10**9, SESSION),
    "ssd_sessions": Fraction(16 * 60 * 10**12, SESSION),
    "recompute_s": Fraction(2 * 706 * 10**8 * CONTEXT, 8 * 989 * 10**12) * 2,
    "dram_read_s": Fraction(SESSION, 8 * 50 * 10**9),
    "ssd_read_s": Fraction(SESSION, 8 * 6 * 10**9),
}
PRINTED = {
    "session_kv_bytes": "1310720000",
    "hbm_sessions": "3906.25",
    "dram_sessions": "18310.546875",
    "ssd_sessions": "732421.875",
    "recompute_s": "0.292394",
    "dram_read_s": "0.0032768",
    "ssd_read_s": "0.0273067",
}


@pytest.fixture(scope="module")
def reference() -> Result:
    kind = kinds.get("kv_pool")
    return kind.estimate(kind.spec(), files.load())


@pytest.mark.parametrize("name", EXACT)
def test_the_reference_figure_is_exact(reference: Result, name: str) -> None:
    value = reference.value(name)
    assert value is not None
    assert value == pytest.approx(float(EXACT[name]), rel=1e-14)
    digits = len(PRINTED[name].partition(".")[2])
    assert f"{value:.{digits}f}" == PRINTED[name]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("hbm_holds_few", "3,906 sessions"),
        ("lower_tiers_hold_more", "4.7\u00a0× as many sessions as HBM, SSD 40\u00a0× as many as DRAM"),
        ("reading_beats_computing", "more than ten times as quick (89\u00a0× and 11\u00a0×)"),
    ],
)
def test_the_conclusions_are_found(reference: Result, code: str, said: str) -> None:
    assert said in next(finding.message for finding in reference.findings if finding.code == code)
