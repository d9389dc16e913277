"""How the sentences of this kind say shares, counts and prices."""

from __future__ import annotations

from planner.core.quantities import show
from planner.core.wording import counted
from planner.formulas import cost
from planner.kinds.llm_serving.plan import Plan


def percent(share: float) -> str:
    """Whole percents, as people say them; more digits only below one."""
    return f"{100 * share:.0f} %" if share >= 0.01 or share <= 0 else f"{100 * share:.1g} %"


def needed(gpus: float) -> str:
    """GPUs that a load asks for: whole ones, and the decimals only of a few."""
    return counted(gpus, "GPU") if gpus >= 10 else show(gpus, "GPUs")


def price(plan: Plan, *, usd_per_h: float) -> str:
    """A bill by the hour, and by the million output tokens where there are any."""
    per_m = cost.usd_per_million_tokens(usd_per_h, tokens_per_s=plan.output_tokens_per_s)
    by_hour = f"${usd_per_h:,.0f}/h" if usd_per_h >= 100 else f"${usd_per_h:,.2f}/h"
    return by_hour if per_m is None else f"{by_hour}, {show(per_m, 'USD/M')}"
