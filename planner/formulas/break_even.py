"""From what use on a fleet costs less than the same tokens bought at an API."""

from __future__ import annotations


def api_usd_per_h(
    *,
    uncached_tokens_per_s: float,
    cached_tokens_per_s: float,
    output_tokens_per_s: float,
    input_usd_per_m: float,
    cached_input_usd_per_m: float,
    output_usd_per_m: float,
) -> float:
    """What an API asks for the tokens of an hour, by the three bases it bills.

    Parameters
    ----------
    uncached_tokens_per_s, cached_tokens_per_s : input that is computed, and input found in a cache [1/s]
    output_tokens_per_s : [1/s]
    input_usd_per_m, cached_input_usd_per_m, output_usd_per_m : [USD per 1e6 tokens]

    Returns
    -------
    [USD/h]

    Notes
    -----
    3600 s/h sum of tokens/s x price / 1e6.

    References
    ----------
    DeepSeek-AI, "DeepSeek-V3/R1 Inference System Overview", open-infra-index, day 6, 2025: 266 billion tokens of
    input computed, 342 billion cached and 168 billion of output a day are 562,027 USD a day at R1's prices.

    >>> day = 86_400
    >>> hour = api_usd_per_h(uncached_tokens_per_s=266e9 / day, cached_tokens_per_s=342e9 / day,
    ...     output_tokens_per_s=168e9 / day, input_usd_per_m=0.55, cached_input_usd_per_m=0.14, output_usd_per_m=2.19)
    >>> round(24 * hour)
    562100
    """
    asked = (
        uncached_tokens_per_s * input_usd_per_m
        + cached_tokens_per_s * cached_input_usd_per_m
        + output_tokens_per_s * output_usd_per_m
    )
    return asked * 3600 / 1e6


def break_even_utilisation(bill_usd_per_h: float, *, api_usd_per_h_at_full_use: float) -> float | None:
    """The use from which on the fleet costs less than the API; None where the API asks nothing.

    Parameters
    ----------
    bill_usd_per_h : of the fleet, used or not [USD/h]
    api_usd_per_h_at_full_use : what the API asks for all tokens of an hour in which the fleet is in full use [USD/h]

    Returns
    -------
    [1]; above one the API is cheaper at any use.

    Notes
    -----
    u = F / (p q): fixed cost over what a unit of volume earns, with no cost that grows with the volume.

    References
    ----------
    C. T. Horngren, S. M. Datar, M. V. Rajan, "Cost Accounting", 14th ed. 2012, ch. 3 (breakeven quantity); the day of
    DeepSeek-AI above: 87,072 USD of GPU-hours against 562,027 USD of tokens.

    >>> round(break_even_utilisation(87_072 / 24, api_usd_per_h_at_full_use=562_027 / 24), 3)
    0.155
    """
    return bill_usd_per_h / api_usd_per_h_at_full_use if api_usd_per_h_at_full_use > 0 else None
