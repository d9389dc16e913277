"""Whether the replica starts: memory of the tightest rank, its KV pool, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import attention, engine_memory, paging
from planner.formulas.memory_terms import Terms
from planner.formulas.stages import Mix, stage_mixes
from planner.kinds.engine_instance import rank
from planner.kinds.engine_instance.plan import Plan
from planner.kinds.engine_instance.pools import pool_of

_KV_LENGTH_SHARE = 0.5
"""Share of its output that a running request holds on average: requests are at all stages at once."""
_MEMORY_PROBLEMS = ("weights_do_not_fit", "no_room_for_cache", "longest_request_does_not_fit")


@dataclass(frozen=True, slots=True)
class Stage:
    """A rank of one pipeline stage."""

    index: int
    mix: Mix
    terms: Terms
    pool: paging.Pool

    @property
    def layers(self) -> int:
        return self.mix.layers


@dataclass(frozen=True, slots=True)
class Fit:
    """``stages`` of the replica; ``tight`` is the one whose pool holds the fewest requests."""

    stages: tuple[Stage, ...]
    tight: Stage
    kv_bytes_per_token: float
    longest_request: int
    load_peak: float
    """Most that a rank holds while it loads the weights [bytes]."""
    problem: str
    """Code of the reason why the engine does not start; "" when it does."""

    @property
    def starts(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True)
class Bounds:
    """The pool at the low and the high end of its range, and whether the engine starts there."""

    low: paging.Pool
    high: paging.Pool
    starts_low: bool
    starts_high: bool

    @property
    def too_close(self) -> bool:
        return self.starts_low != self.starts_high


def fit(plan: Plan) -> Fit:
    """Memory of every stage, and whether the engine starts."""
    stages = tuple(_stages(plan))
    tight = min(stages, key=lambda stage: (stage.pool.requests(plan.max_model_len), stage.terms.kv_room))
    longest = _longest(plan, tight.pool)
    load_peak = rank.load_peak_bytes(plan)
    return Fit(
        stages=stages,
        tight=tight,
        kv_bytes_per_token=_kv_bytes_per_token(plan, stages),
        longest_request=longest,
        load_peak=load_peak,
        problem=_problem(plan, pool_bytes=tight.terms.kv_room, longest=longest, load_peak=load_peak),
    )


def bounds(plan: Plan, fitted: Fit) -> Bounds:
    """What the range of the pool means for blocks and for the verdict."""
    terms, mix = fitted.tight.terms, fitted.tight.mix
    pools = [_stage_pool(plan, pool_bytes=size, mix=mix, index=fitted.tight.index) for size in _ends(terms)]
    starts = [
        not _problem(plan, pool_bytes=size, longest=_longest(plan, pool), load_peak=fitted.load_peak)
        for size, pool in zip(_ends(terms), pools, strict=True)
    ]
    return Bounds(low=pools[0], high=pools[1], starts_low=starts[0], starts_high=starts[1])


def _ends(terms: Terms) -> tuple[float, float]:
    return terms.pool_low, terms.pool_high


def _stages(plan: Plan) -> list[Stage]:
    layout = plan.layout
    weights = rank.stage_weights(plan)
    mixes = stage_mixes(plan.llm, pipeline_parallel=layout.pipeline_parallel)
    found = []
    for index, (mix, size) in enumerate(zip(mixes, weights, strict=True)):
        terms = engine_memory.engine_terms(
            plan.settings,
            rank=rank.of_stage(plan, weights_bytes=size),
            memory_fraction=plan.spec.memory_fraction,
            batched_tokens=plan.batched_tokens,
            graph_sequences=plan.graph_sequences,
        )
        found.append(Stage(index, mix, terms, _stage_pool(plan, pool_bytes=terms.kv_room, mix=mix, index=index)))
    return found


def _stage_pool(plan: Plan, *, pool_bytes: float, mix: Mix, index: int) -> paging.Pool:
    return pool_of(plan, pool_bytes=pool_bytes, mix=mix, last=index == plan.layout.pipeline_parallel - 1)


def _longest(plan: Plan, pool: paging.Pool) -> int:
    return pool.longest_request(limit=max(plan.llm.max_context_tokens, plan.max_model_len))


def _problem(plan: Plan, *, pool_bytes: float, longest: int, load_peak: float) -> str:
    layout = plan.layout
    if plan.llm.heads % layout.tensor_parallel:
        return "tensor_parallel_splits_heads"
    if layout.pipeline_parallel > plan.llm.layers:
        return "more_stages_than_layers"
    if layout.stage_gpus % layout.expert_parallel:
        return "expert_parallel_does_not_divide"
    if layout.tensor_parallel % layout.context_parallel:
        return "context_parallel_does_not_divide"
    if pool_bytes <= 0:
        return "weights_do_not_fit"
    if load_peak > plan.visible_bytes:
        return "load_peak_does_not_fit"
    if longest < 1:
        return "no_room_for_cache"
    needed = plan.max_model_len if _must_hold_longest(plan) else 1
    return "longest_request_does_not_fit" if longest < needed else ""


def is_of_memory(fitted: Fit) -> bool:
    """Whether a replica that does not start would with a larger pool: what a range can change."""
    return not fitted.problem or fitted.problem in _MEMORY_PROBLEMS


def _must_hold_longest(plan: Plan) -> bool:
    """vLLM refuses to start unless one request of the longest length fits; the others cap the length."""
    return plan.spec.engine == "vllm"


def _kv_bytes_per_token(plan: Plan, stages: tuple[Stage, ...]) -> float:
    """On the stage that holds most growing layers; what an indexer keeps is told apart."""
    by_kind = plan.pages_by_kind
    whole = attention.kv_bytes_per_token(
        plan.llm,
        dtype_bytes=plan.kv_dtype_bytes,
        tensor_parallel=plan.layout.tensor_parallel,
        sliding_as_full=not by_kind and plan.llm.compressed is None,
    )
    growing = [stage.mix.full if by_kind else stage.mix.attention for stage in stages]
    share = max(growing) / sum(growing) if sum(growing) else 1.0
    return whole * share / plan.layout.context_parallel


def pool_tokens(plan: Plan, pool: paging.Pool) -> int:
    """Tokens of the pool as the engine and version print them."""
    if plan.settings["printed_tokens"] == "requests":
        return pool.tokens_by_requests(longest=plan.max_model_len)
    return pool.tokens_by_blocks()


def held_tokens(*, input_tokens: float, output_tokens: float) -> float:
    """Tokens that a running request of these lengths holds in the cache on average."""
    return input_tokens + _KV_LENGTH_SHARE * output_tokens


def capacity(plan: Plan, pool: paging.Pool) -> float:
    """Requests of this workload that may run at once on the whole replica with such a pool on its tightest rank."""
    held = held_tokens(input_tokens=plan.spec.input_tokens, output_tokens=plan.spec.output_tokens)
    return plan.layout.data_parallel * min(pool.requests(held), float(plan.max_num_seqs))
