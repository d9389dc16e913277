from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.formulas import break_even, ownership

USD = st.floats(0, 1e6)
SHARE = st.floats(0, 1)


@pytest.mark.parametrize(
    ("interest", "years", "factor"),
    [(0.10, 5, 0.26380), (0.08, 10, 0.14903), (0.05, 3, 0.36721), (0.12, 4, 0.32923)],
)
def test_capital_recovery_factors_are_those_of_the_tables(interest, years, factor):
    """(A/P, i, n) of the compound-interest tables in Blank and Tarquin."""
    paid = ownership.capital_recovery_usd_per_year(1.0, residual_share=0.0, years=years, interest=interest)
    assert paid == pytest.approx(factor, abs=5e-6)


def test_what_it_sells_for_pays_the_sinking_fund():
    """10 %, five years: (A/F) = 0.16380, so a thousand at the end are worth 163.80 a year."""
    whole = ownership.capital_recovery_usd_per_year(10_000, residual_share=0.0, years=5, interest=0.1)
    sold = ownership.capital_recovery_usd_per_year(10_000, residual_share=0.1, years=5, interest=0.1)
    assert whole - sold == pytest.approx(163.80, abs=0.01)


@given(
    server=USD,
    network=USD,
    years=st.floats(1, 10),
    residual=SHARE,
    interest=st.floats(0, 0.3),
    drawn=SHARE,
    upkeep=SHARE,
)
def test_parts_add_up_in_any_order_to_the_last_bit(server, network, years, residual, interest, drawn, upkeep):
    parts = ownership.owned_parts_usd_per_h(
        server_usd=server,
        network_usd=network,
        years=years,
        residual_share=residual,
        interest=interest,
        gpu_w=700,
        host_w=575,
        drawn_share=drawn,
        pue=1.3,
        usd_per_kwh=0.081,
        colo_usd_per_kw_month=184,
        upkeep_share=upkeep,
    )
    total = sum(parts.values())
    assert all(sum(order) == total for order in itertools.islice(itertools.permutations(parts.values()), 24))
    assert all(part >= 0 for part in parts.values())
    assert total == pytest.approx(math.fsum(parts.values()))


def test_the_day_of_deepseek_breaks_even_at_a_sixth():
    """87,072 USD of GPU-hours against 562,027 USD of tokens: the margin they publish is 545 %."""
    use = break_even.break_even_utilisation(87_072 / 24, api_usd_per_h_at_full_use=562_027 / 24)
    assert 1 / use - 1 == pytest.approx(5.45, abs=0.01)
    assert break_even.break_even_utilisation(1.0, api_usd_per_h_at_full_use=0.0) is None
