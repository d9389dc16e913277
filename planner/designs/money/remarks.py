"""What there is to say about an answer of money: what has no price, what was chosen, what pays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from planner.core.money import COMMITMENTS
from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent

if TYPE_CHECKING:
    from planner.core.fleet import Fleet
    from planner.designs.money.buying import Bought, Buying
    from planner.designs.money.money import Money

WORTH_SAYING = 0.02
"""Of the bill: smaller savings are not told."""


def findings(answer: Money, *, fleet: Fleet, refusals: tuple[str, ...]) -> list[Finding]:
    return [
        *(Finding("no_price", "error", said) for said in refusals),
        *_without_price(answer, fleet=fleet),
        *_chosen(answer),
        *_against_api(answer, fleet=fleet),
        *_planned(answer),
    ]


def _without_price(answer: Money, *, fleet: Fleet) -> Iterator[Finding]:
    for pool in fleet.pools:
        if pool.is_billed and pool.unit_usd_per_h is None:
            said = f"{pool.label} have no price, so there is no bill; choose a price list or give your own price."
            yield Finding("no_price", "error", said)
        if not pool.is_billed:
            yield Finding(
                "not_billed", "info", f"{pool.label} are left out of the bill, as the design leaves them out."
            )
    if not any(fleet.tokens_per_s.values()):
        yield Finding("no_tokens", "info", "There is no load, so there is no price of a token.")
    if answer.terms.demand == "own" and answer.terms.weights is None:
        said = "Your hours are not given; the plan takes users in several time zones."
        yield Finding("no_hours", "warning", said)


def _chosen(answer: Money) -> Iterator[Finding]:
    """Whose price it is, where the terms left that open, and what of it is a guess."""
    for quote in answer.quotes.values():
        if answer.terms.source == "list":
            said = (
                f"{quote.gpu}: {show(quote.usd_per_h, 'USD/GPU-h')}, {COMMITMENTS[quote.terms].lower()}, {quote.who} "
                f"({quote.source}, {quote.as_of})."
            )
            yield Finding("price_source", "info", said)
        if quote.is_estimate:
            guessed = [name for name, figure in quote.figures.items() if figure.is_estimate]
            names = ", ".join(name.replace("_", " ") for name in guessed)
            said = (
                f"The hour of an owned {quote.gpu}, {show(quote.usd_per_h, 'USD/GPU-h')}, rests on estimates: {names}."
            )
            yield Finding("owned_estimates", "info", said, suggestion="Give your own figures.")


def _against_api(answer: Money, *, fleet: Fleet) -> Iterator[Finding]:
    against = answer.break_even
    if against is None:
        said = "No API price of this design’s LLM is in the catalog; choose one to compare with."
        yield Finding("no_api_price", "info", said)
        return
    if against.utilisation is None:
        return
    beside = [fleet.leaves_out, *(pool.label.lower() for pool in fleet.pools if not pool.is_billed)]
    if left_out := " and ".join(filter(None, beside)):
        said = f"The bill leaves out {left_out}; an API does not, so the comparison flatters this design."
        yield Finding("api_sells_more", "warning", said)
    name, use, mean = against.api.name, against.utilisation, answer.mean_to_peak
    api = f"{show(answer.amount(against.api_per_h * answer.usd_per_unit), f'{answer.currency}/h')}"
    if use > 1:
        said = f"At {name} the tokens of the peak cost {api}, less than the fleet at any use of it."
        yield Finding("api_cheaper", "warning", said)
    elif use > mean:
        said = (
            f"The fleet costs less than {name} from a use of {percent(use)} of its peak on; the mean of this demand is "
            f"{percent(mean)}."
        )
        yield Finding("api_cheaper_at_mean", "warning", said)
    else:
        said = (
            f"The fleet costs less than {name} from a use of {percent(use)} of its peak on, below the mean of this "
            f"demand, {percent(mean)}."
        )
        yield Finding("fleet_cheaper", "info", said)


def _planned(answer: Money) -> Iterator[Finding]:
    buying = answer.buying
    if buying is None and answer.per_h is not None:
        said = "No plan to buy was found in the time there is for it; a shorter plan or less growth may have one."
        yield Finding("no_plan", "warning", said)
    if buying is None or not buying.pools:
        return
    if buying.saved is not None and buying.saved >= WORTH_SAYING:
        years = counted(answer.terms.horizon_years, "year")
        said = (
            f"Bought by the plan the fleet costs {percent(buying.saved)} less over {years} than one for the peak, "
            f"rented on demand around the clock."
        )
        yield Finding("plan_saves", "info", said)
    yield from _offers(answer, buying=buying)


def _offers(answer: Money, *, buying: Buying) -> Iterator[Finding]:
    """MoneyTerms that would matter and are nowhere on offer."""
    told = set()
    for bought in buying.pools:
        lacking = _lacking(bought, years=answer.terms.horizon_years)
        if bought.pool.gpu and lacking and bought.pool.gpu not in told:
            told.add(bought.pool.gpu)
            gpu, terms = bought.quotes["on_demand"].gpu, " or ".join(lacking)
            said = f"The catalog has no price of {gpu}, {terms}: the plan does without."
            yield Finding("no_offer", "info", said, suggestion="Give your own under Commitments.")


def _lacking(bought: Bought, *, years: int) -> list[str]:
    wanted = ["reserved_1y", *(["reserved_3y"] if years == 3 else []), "spot"]
    return [COMMITMENTS[name].lower() for name in wanted if name not in bought.quotes]
