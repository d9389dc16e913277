"""What an hour of an owned GPU costs: capital, power, room and upkeep, in parts that sum to it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.formulas.cost import exact_parts
from planner.formulas.power import wall_power_w

HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12


def depreciation_usd_per_year(price_usd: float, *, residual_share: float, years: float) -> float:
    """Straight-line depreciation.

    Parameters
    ----------
    price_usd : what was paid [USD]
    residual_share : of the price, left at the end [1]
    years : of use [a]

    Returns
    -------
    [USD/a]

    Notes
    -----
    D = (P - S) / n.

    References
    ----------
    L. Blank, A. Tarquin, "Engineering Economy", 7th ed. 2012, eq. (16.1).

    >>> depreciation_usd_per_year(50_000.0, residual_share=0.2, years=5)
    8000.0
    """
    return price_usd * (1 - residual_share) / years


def capital_recovery_usd_per_year(price_usd: float, *, residual_share: float, years: float, interest: float) -> float:
    """The even yearly payment that pays back a purchase with interest, less what it is sold for at the end.

    Parameters
    ----------
    price_usd : [USD]
    residual_share : of the price, left at the end [1]
    years : [a]
    interest : a year [1]

    Returns
    -------
    [USD/a]; without interest the straight-line depreciation.

    Notes
    -----
    CR = P (A/P, i, n) - S (A/F, i, n) = (P - S) (A/P, i, n) + S i, with (A/P, i, n) = i / (1 - (1 + i)^-n).

    References
    ----------
    L. Blank, A. Tarquin, "Engineering Economy", 7th ed. 2012, eq. (6.3) and table 2-3.

    >>> round(capital_recovery_usd_per_year(10_000.0, residual_share=0.2, years=5, interest=0.10), 1)
    2310.4
    """
    if interest == 0:
        return depreciation_usd_per_year(price_usd, residual_share=residual_share, years=years)
    factor = -interest / math.expm1(-years * math.log1p(interest))
    return price_usd * ((1 - residual_share) * factor + residual_share * interest)


def owned_parts_usd_per_h(
    *,
    server_usd: float,
    network_usd: float,
    years: float,
    residual_share: float,
    interest: float,
    gpu_w: float,
    host_w: float,
    drawn_share: float,
    pue: float,
    usd_per_kwh: float,
    colo_usd_per_kw_month: float,
    upkeep_share: float,
) -> Mapping[str, float]:
    """An hour of one owned GPU by what it pays for; the parts add up in any order, to the last bit.

    Parameters
    ----------
    server_usd : GPU with its share of the server [USD]
    network_usd : its share of switches and cables [USD]
    years : of use [a]
    residual_share : of the price, left at the end [1]
    interest : a year on what is bound; zero for none [1]
    gpu_w : board power limit (TDP) [W]
    host_w : its share of processors, memory, network cards and fans [W]
    drawn_share : of that power, on average [1]
    pue : power usage effectiveness [1]
    usd_per_kwh : [USD/kWh]
    colo_usd_per_kw_month : rent of power and room, by the power provisioned, without the energy [USD/kW/month]
    upkeep_share : staff, spares and support, of the price a year [1/a]

    Returns
    -------
    depreciation, financing, network, power, colo, upkeep [USD/h]

    Notes
    -----
    Capital by `capital_recovery_usd_per_year`, of which what exceeds straight-line depreciation is financing; network
    holds both for switches and cables. Energy at the meter is PUE x drawn power. An owned hour is paid used or not.

    References
    ----------
    L. A. Barroso, U. Hoelzle, P. Ranganathan, "The Datacenter as a Computer", 3rd ed. 2018, ch. 6 (the parts); The
    Green Grid, white paper 49, 2012, eq. (1) (PUE).

    >>> parts = owned_parts_usd_per_h(server_usd=35_040, network_usd=8_760, years=4, residual_share=0, interest=0,
    ...     gpu_w=700, host_w=300, drawn_share=1, pue=1.25, usd_per_kwh=0.08, colo_usd_per_kw_month=146,
    ...     upkeep_share=0.05)
    >>> {name: round(usd, 9) for name, usd in parts.items()}
    {'depreciation': 1.0, 'financing': 0.0, 'network': 0.25, 'power': 0.1, 'colo': 0.2, 'upkeep': 0.25}
    """
    capital = {"residual_share": residual_share, "years": years}
    worn = depreciation_usd_per_year(server_usd, **capital)
    owed = capital_recovery_usd_per_year(server_usd, interest=interest, **capital)
    provisioned_w = gpu_w + host_w
    drawn_w = wall_power_w(gpus=1, gpu_w=gpu_w * drawn_share, nodes=1, host_w_per_node=host_w * drawn_share, pue=pue)
    parts = {
        "depreciation": worn / HOURS_PER_YEAR,
        "financing": max(owed - worn, 0.0) / HOURS_PER_YEAR,
        "network": capital_recovery_usd_per_year(network_usd, interest=interest, **capital) / HOURS_PER_YEAR,
        "power": drawn_w / 1000 * usd_per_kwh,
        "colo": provisioned_w / 1000 * colo_usd_per_kw_month * MONTHS_PER_YEAR / HOURS_PER_YEAR,
        "upkeep": upkeep_share * (server_usd + network_usd) / HOURS_PER_YEAR,
    }
    total = math.fsum(parts.values())
    last = parts.pop("upkeep")
    return exact_parts(max(total, last), parts=parts, remainder="upkeep")
