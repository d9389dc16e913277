"""The replica at its load and along the curve of concurrency."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.core.result import Column, Series
from planner.formulas import cost, memory, neighbours, serving
from planner.kinds.engine_instance import fit as fits
from planner.kinds.engine_instance.metrics import BY_NAME, RATE_NAMES
from planner.kinds.engine_instance.plan import Plan

_LAST_CONCURRENCY = 65536
_NARROW_BITS = 9.0
MOST_FRACTION = 0.97
"""Share of a GPU that an engine can be told to take: what is left holds its context."""
REPEATS = 12
SETTLED = 0.005
_NONE = neighbours.Correction(tpot=1.0, ttft=1.0, tpot_sd=0.0, ttft_sd=0.0)
_CURVE = (
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p90_s",
    "ttft_p99_s",
    "tpot_mean_s",
    "tpot_p50_s",
    "tpot_p90_s",
    "tpot_p99_s",
    "itl_p99_s",
    "e2e_mean_s",
    "running_requests",
    *RATE_NAMES,
    *(f"{name}_per_gpu" for name in RATE_NAMES),
    "cost_usd_per_m_output_tokens",
    "cost_usd_per_m_input_tokens",
    "cost_usd_per_m_total_tokens",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A replica ready to be loaded; ``capacity`` requests run at once.

    ``lean``: the measurements it leans on. ``lesser``: the same replica on lesser GPUs, whose answers bound its own.
    """

    plan: Plan
    times: serving.StepTimes
    load: serving.Load
    capacity: float
    lean: neighbours.Lean | None = None
    lesser: tuple[Operation, ...] = ()

    @property
    def max_rate_rps(self) -> float:
        fastest = serving.max_rate_rps(self.times, load=self.load, capacity=self.capacity)
        return max(fastest / self.correction(self.capacity).tpot, *(each.max_rate_rps for each in self.lesser), 0.0)

    def correction(self, concurrency: float) -> neighbours.Correction:
        """What measurements add with so many requests in the system; nothing where the source is another."""
        if self.lean is None:
            return _NONE
        return self.lean.at(concurrency=concurrency, capacity=self.capacity)

    def at_design(self) -> serving.Point | None:
        """The operating point; None when requests arrive faster than they can be served."""
        if self.plan.spec.rate_rps is None:
            return self.at(self.plan.concurrency)
        return self.at_rate(self.plan.spec.rate_rps)

    def at(self, concurrency: float) -> serving.Point:
        """With so many requests in the system, each replaced as it ends."""
        point = serving.closed_loop(self.times, load=self.load, concurrency=concurrency, capacity=self.capacity)
        correction = self.correction(concurrency)
        own = point.leaning(tpot=correction.tpot, ttft=correction.ttft)
        bounded = own
        for each in self.lesser:
            bounded = bounded.bounded(each.at(concurrency))
        return _as_carried(own, bounded, correction)

    def at_rate(self, rate_rps: float) -> serving.Point | None:
        """Under Poisson arrivals; None when they come faster than they can be served."""
        own = bounded = self._alone_at_rate(rate_rps)
        for each in self.lesser:
            bound = each.at_rate(rate_rps)
            if bound is not None:
                bounded = bound if bounded is None else bounded.bounded(bound)
        found = bounded
        if own is not None and bounded is not None:
            found = _as_carried(own, bounded, self.correction(max(own.concurrency, 1.0)))
        return None if found is None else replace(found, concurrency=rate_rps * found.e2e_s).settled(limit=math.inf)

    def _alone_at_rate(self, rate_rps: float) -> serving.Point | None:
        """By its own measurements; None from the rate on at which all places are taken all the time.

        A replica whose times are all f times longer meets a rate as one without meets f times that rate. The factor
        depends on the requests in the system, as far as there are places. Those that it asks for at one load and at
        all places enclose a point where both agree; regula falsi finds it on a logarithmic scale.
        """
        full = max(self.capacity, 1.0)
        point = self._at_rate_with(self.correction(full), rate_rps=rate_rps)
        if point is None or point.concurrency >= full:
            return point
        low, high = 0.0, math.log(full)
        low_over, high_over, moved = high, math.log(max(point.concurrency, 1.0)) - high, 0
        middle = math.log(max(point.concurrency, 1.0))
        for _ in range(REPEATS):
            found = self._at_rate_with(self.correction(math.exp(middle)), rate_rps=rate_rps)
            asked = full if found is None else min(max(found.concurrency, 1.0), full)
            point, over = found or point, math.log(asked) - middle
            if abs(over) <= SETTLED:
                break
            if over > 0.0:
                low, low_over, high_over, moved = middle, over, high_over / (2 if moved > 0 else 1), 1
            else:
                high, high_over, low_over, moved = middle, over, low_over / (2 if moved < 0 else 1), -1
            middle = (low * high_over - high * low_over) / (high_over - low_over)
        return point

    def _at_rate_with(self, correction: neighbours.Correction, *, rate_rps: float) -> serving.Point | None:
        """With a factor that does not follow the load."""
        base = serving.open_loop(
            self.times, load=self.load, rate_rps=rate_rps * correction.tpot, capacity=self.capacity
        )
        if base is None:
            return None
        point = base.leaning(tpot=correction.tpot, ttft=correction.ttft)
        return replace(point, concurrency=rate_rps * point.e2e_s)

    def curve(self) -> tuple[serving.Point, ...]:
        """Points at 1, 2, 4 … until all places are taken and one step past."""
        last, points = max(self.capacity, self.plan.concurrency, 8.0), []
        concurrency = 1.0
        while concurrency <= _LAST_CONCURRENCY:
            points.append(self.at(concurrency))
            if concurrency > last:
                break
            concurrency *= 2
        return tuple(points)


def _as_carried(own: serving.Point, bounded: serving.Point, correction: neighbours.Correction) -> serving.Point:
    """The bound by lesser GPUs as far as a point is carried over: what was measured of the replica itself stands."""
    shares = correction.tpot_carried, correction.ttft_carried
    if bounded is own or shares == (1.0, 1.0):
        return bounded
    gaps = (bounded.decode_s + bounded.interference_s) / (own.decode_s + own.interference_s)
    return own.leaning(tpot=gaps ** shares[0], ttft=(bounded.ttft_s / own.ttft_s) ** shares[1])


def operation(
    plan: Plan, *, capacity: float, times: serving.StepTimes, lean: neighbours.Lean | None = None
) -> Operation:
    """The replica under the load of its spec, with step times from one source."""
    spec = plan.spec
    computed = max(spec.input_tokens * (1.0 - spec.prefix_hit_rate), 1.0)
    return Operation(
        plan=plan,
        times=times,
        load=serving.Load(
            new_tokens=computed,
            cached_tokens=spec.input_tokens - computed,
            output_tokens=spec.output_tokens,
            draft_tokens=spec.draft,
            acceptance=spec.draft_acceptance,
        ),
        capacity=capacity,
        lean=lean,
    )


def with_copies(plan: Plan, fitted: fits.Fit) -> tuple[Plan, fits.Fit]:
    """The replica as it is timed: as stated, or with a copy of attention on each GPU where ranks would split heads.

    Tables write all GPUs of a system as tensor-parallel ranks; of an LLM with experts such ranks share the experts.
    """
    if fitted.problem != "tensor_parallel_splits_heads" or plan.llm.moe is None:
        return plan, fitted
    copies = plan.layout.stage_gpus
    spec = plan.spec.model_copy(
        update={
            "gpus": plan.layout.gpus,
            "tensor_parallel": 1,
            "data_parallel_attention": copies,
            "expert_parallel": None,
            "context_parallel": None,
        }
    )
    layout = replace(plan.layout, tensor_parallel=1, data_parallel=copies, expert_parallel=copies, context_parallel=1)
    other = replace(plan, spec=spec, layout=layout, measured=None)
    return other, fits.fit(other)


def is_served(plan: Plan, fitted: fits.Fit) -> bool:
    """Whether times can be told: it starts and holds a request, or would with shorter ones or more memory."""
    tokens = request_tokens(plan)
    if fitted.starts:
        return tokens <= min(plan.max_model_len, fitted.longest_request)
    if not fits.is_of_memory(fitted) or tokens > plan.max_model_len:
        return False
    return tokens <= fitted.longest_request or roomier(plan, fitted) is not None


def roomier(plan: Plan, fitted: fits.Fit) -> fits.Fit | None:
    """The replica with as much memory as its range or a larger fraction could give it; None where neither holds a
    request of the workload.
    """
    tokens = request_tokens(plan)
    high = fits.bounds(plan, fitted).high
    if tokens <= high.longest_request(limit=tokens):
        return replace(fitted, tight=replace(fitted.tight, pool=high))
    if plan.spec.memory_fraction is not None:
        return None
    raised = fits.fit(replace(plan, spec=plan.spec.model_copy(update={"memory_fraction": MOST_FRACTION})))
    return raised if tokens <= raised.longest_request else None


def request_tokens(plan: Plan) -> int:
    """Tokens of a whole request of the workload."""
    return math.ceil(plan.spec.input_tokens + plan.spec.output_tokens)


def as_served(plan: Plan) -> Plan:
    """The plan with the cache that its times take: where its width is left out and weights are narrow, one byte.

    Replicas of quantised LLMs are run with an FP8 cache, and measured ones do not wait for places that 16 bits would
    leave them without.
    """
    if plan.spec.kv_dtype is not None or memory.BITS_PER_PARAMETER[plan.weight_dtype] > _NARROW_BITS:
        return plan
    return replace(plan, kv_dtype="fp8", kv_dtype_bytes=1.0)


def places(plan: Plan, fitted: fits.Fit) -> float:
    """Requests that run at once while the replica is measured against a load; below one: none.

    A replica that does not start as stated counts with the memory it would need (`roomier`).
    """
    return places_of(rooms(plan, fitted))


def rooms(plan: Plan, fitted: fits.Fit) -> tuple[tuple[Plan, fits.Fit], ...]:
    """Plans with their memory, the largest of which counts: as stated, and with the cache that its times take."""
    served = as_served(plan)
    return ((plan, fitted),) if served is plan else ((plan, fitted), (served, fits.fit(served)))


def places_of(sizes: tuple[tuple[Plan, fits.Fit], ...]) -> float:
    """Requests that run at once in the largest of some rooms."""
    return max(_most_likely(plan, fitted) for plan, fitted in sizes)


def _most_likely(plan: Plan, fitted: fits.Fit) -> float:
    found = fits.capacity(plan, fitted.tight.pool)
    if found >= 1.0:
        return found
    larger = roomier(plan, fitted)
    return found if larger is None else fits.capacity(plan, larger.tight.pool)


def bill_usd_per_h(plan: Plan) -> float | None:
    return None if plan.price_usd_per_h is None else plan.price_usd_per_h * plan.layout.gpus


def figures(plan: Plan, point: serving.Point) -> dict[str, float | None]:
    """Latency, throughput and money at one point, by metric name."""
    rates = _rates(plan, point)
    found: dict[str, float | None] = {
        "ttft_mean_s": point.ttft_s,
        "ttft_p50_s": point.ttft_quantile_s(0.5),
        "ttft_p90_s": point.ttft_quantile_s(0.9),
        "ttft_p99_s": point.ttft_quantile_s(0.99),
        "tpot_mean_s": point.tpot_s,
        "tpot_p50_s": point.tpot_quantile_s(0.5),
        "tpot_p90_s": point.tpot_quantile_s(0.9),
        "tpot_p99_s": point.tpot_quantile_s(0.99),
        "itl_p99_s": point.itl_quantile_s(0.99),
        "e2e_mean_s": point.e2e_s,
        "concurrency": point.concurrency,
        "running_requests": point.running,
        **rates,
        **{f"{name}_per_gpu": rate / plan.layout.gpus for name, rate in rates.items()},
    }
    return found | prices(plan, rates)


def _rates(plan: Plan, point: serving.Point) -> dict[str, float]:
    spec = plan.spec
    requests = point.request_rate_rps if spec.rate_rps is None or point.concurrency else 0.0
    return {
        "request_rate_rps": requests,
        "input_tokens_per_s": requests * spec.input_tokens,
        "output_tokens_per_s": requests * spec.output_tokens,
        "total_tokens_per_s": requests * (spec.input_tokens + spec.output_tokens),
    }


def prices(plan: Plan, rates: dict[str, float]) -> dict[str, float | None]:
    """Price of a million tokens by basis; None without a price or without tokens."""
    bill = bill_usd_per_h(plan)
    found: dict[str, float | None] = {}
    for basis in ("output", "input", "total"):
        tokens = rates[f"{basis}_tokens_per_s"] * plan.spec.utilisation
        name = f"cost_usd_per_m_{basis}_tokens"
        found[name] = None if bill is None else cost.usd_per_million_tokens(bill, tokens_per_s=tokens)
    return found


def curve_series(plan: Plan, points: tuple[serving.Point, ...]) -> Series:
    """All load metrics against concurrency."""
    rows = [figures(plan, point) for point in points]
    columns = [Column("concurrency", "Requests in the system", "requests", [point.concurrency for point in points])]
    for name in _CURVE:
        definition = BY_NAME[name]
        columns.append(Column(name, definition.label, definition.unit, [row[name] for row in rows]))
    return Series(name="concurrency", label="Against concurrency", columns=tuple(columns))
