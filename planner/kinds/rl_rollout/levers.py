"""The cheapest rollout that does not slow training: GPUs that generate, how many are an instance, mode and staleness.

Training stays on its GPUs at their price; where both roles share GPUs, their GPU is that of training. A stated rate
belongs to its GPU, so rates of others come from weights, KV and FLOP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.core.catalog import Catalog, Gpu, MissingFigure
from planner.core.offers import Offer, offers
from planner.core.result import Result
from planner.core.search import Candidate, Search, Space, grid, lacking, ranked
from planner.core.wording import counted
from planner.kinds.rl_rollout.base import base_of
from planner.kinds.rl_rollout.inputs_fleet import MODE_LABELS
from planner.kinds.rl_rollout.spec import RlRolloutSpec

INSTANCE_GPUS = (1, 2, 4, 8)
BOUNDS = (1, 2, 4)
"""Steps that answers may be behind; more than four is beyond what was published as nearly free."""
_NEEDED = ("memory_bytes", "memory_bytes_per_s", "bf16_flops_per_s")
FIELDS = (
    "gpu",
    "gpu_price_usd_per_h",
    "training_gpu_price_usd_per_h",
    "rollout_gpus",
    "instance_gpus",
    "mode",
    "staleness_bound",
    "scored",
    "rate_source",
)


def space(spec: RlRolloutSpec, result: Result, catalog: Catalog) -> Space:
    """Every GPU with a price in every mode."""
    del result
    prices, left_out = offers(catalog, own={spec.gpu: spec.gpu_price_usd_per_h})
    candidates: list[Candidate] = []
    for slug, offer in prices.items():
        gpu = catalog.gpu(slug)
        unknown = [name for name in _NEEDED if not gpu.has(name)]
        if unknown:
            left_out[slug] = f"the catalog has no figure “{unknown[0]}” of it"
            continue
        candidates += _on(spec, gpu, offer=offer, catalog=catalog)
    told = {gpu: offer.told() for gpu, offer in prices.items() if gpu not in left_out}
    return ranked(FIELDS, candidates, left_out=left_out, sources={"prices": told})


def _on(spec: RlRolloutSpec, gpu: Gpu, *, offer: Offer, catalog: Catalog) -> Iterator[Candidate]:
    is_own = gpu.slug == catalog.gpu(spec.gpu).slug
    training = spec.training_gpu_price_usd_per_h
    paid = spec.gpu_price_usd_per_h if training is None else training
    axes: dict[str, list[Any]] = {
        "instance_gpus": [*INSTANCE_GPUS, spec.instance_gpus],
        "mode": list(MODE_LABELS),
        "staleness_bound": [*BOUNDS, spec.staleness_bound],
        "rate_source": [spec.rate_source, "roofline"] if is_own else ["roofline"],
    }
    for change in grid(axes):
        is_shared = change["mode"] == "colocated"
        if is_shared and not is_own:
            continue  # both roles are one pool of GPUs, and training stays where it is
        if change["mode"] != "asynchronous" and change["staleness_bound"] != spec.staleness_bound:
            continue  # the bound is that of overlapped steps only
        fixed: dict[str, Any] = {
            "gpu": gpu.slug,
            "gpu_price_usd_per_h": offer.usd_per_h,
            "training_gpu_price_usd_per_h": training if is_own else paid,
            "rollout_gpus": None,
            "scored": "each" if spec.scored == "batch" and change["mode"] == "asynchronous" else spec.scored,
        }
        made = {**fixed, **change}
        try:
            yield Candidate(made, group=gpu.name, least=_least(spec.model_copy(update=made), catalog=catalog))
        except MissingFigure as problem:
            yield Candidate(made, group=gpu.name, rejected=lacking(problem))


def _least(spec: RlRolloutSpec, *, catalog: Catalog) -> float:
    """Cost of a useful sample with GPUs that generate without a pause and all of whose answers are used."""
    base = base_of(spec, catalog=catalog)
    made, useful = base.physics, spec.problems * spec.answers_per_problem
    window_s = spec.training_s
    tokens_per_s = made.step.tokens_per_s(made.running, context_tokens=made.context_tokens) if made.running > 0 else 0.0
    if not (tokens_per_s > 0 and window_s > 0 and useful > 0):
        return 0.0
    gpus = 0.0
    if spec.mode != "colocated":
        gpus = base.demand.completed * base.law.mean_tokens / (tokens_per_s * window_s) * spec.instance_gpus
    trained = (
        spec.gpu_price_usd_per_h if spec.training_gpu_price_usd_per_h is None else spec.training_gpu_price_usd_per_h
    )
    bill = gpus * spec.gpu_price_usd_per_h + spec.training_gpus * trained
    return 0.99 * bill * window_s / 3600 / useful


def words(spec: RlRolloutSpec, result: Result, catalog: Catalog) -> str:
    """The mode and the GPUs of both roles."""
    gpus = counted(result.value("rollout_gpus") or 0, "rollout GPU")
    mode = str(MODE_LABELS[spec.mode])
    name = catalog.gpu(spec.gpu).name
    return f"{mode}: {gpus} ({name}, {spec.instance_gpus} an instance) beside {spec.training_gpus} for training"


SEARCH = Search(objective="cost_usd_per_useful_sample", space=space, words=words)
