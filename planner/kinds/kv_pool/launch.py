"""What starts prefill units with their tiers: LMCache, Mooncake or HiCache, sized from the design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.core.catalog import Catalog
from planner.core.launch import Asked, Command, Launch, Launcher, Refusal, Target
from planner.core.launching import engines, shell
from planner.core.launching.options import NOTHING, Settled, settle
from planner.core.launching.server import Server, model_asked, object_name
from planner.core.result import Result
from planner.core.text import gettext_noop as _
from planner.kinds.kv_pool.spec import KvPoolSpec

LMCACHE = Target("vllm", "vLLM + LMCache")
MOONCAKE = Target("vllm_mooncake", "vLLM + Mooncake")
HICACHE = Target("sglang", "SGLang HiCache + Mooncake")
MASTER_PORT = 50051
MASTER = f"mooncake-master:{MASTER_PORT}"
BUFFER = "4GB"
GB = 10**9
_OWN_TIERS = _(
    "LMCache keeps tiers in each node; the design's pool reads those of all. Requests have to return to theirs."
)
_STAGED = _("HiCache stages in host memory of its own, twice the GPU's pool by default: that comes on top of the tier.")


def targets(spec: KvPoolSpec) -> tuple[Target, ...]:
    """What holds the tiers of the design comes first."""
    return (LMCACHE, MOONCAKE, HICACHE) if spec.ssd_bytes_per_node else (MOONCAKE, HICACHE, LMCACHE)


def start(spec: KvPoolSpec, result: Result, catalog: Catalog, target: Target) -> Launch:
    """All prefill units of the design and the master of their pool."""
    engine = engines.SGLANG.slug if target == HICACHE else engines.VLLM.slug
    server = _server(spec, result, catalog, target, engine=engine)
    told = engines.tell(server, catalog, beside=_beside(spec, catalog, target))
    commands, also = _master(catalog) if target != LMCACHE else ((), NOTHING)
    also += Settled((), tuple(_refusals(spec, target)))
    made = engines.launch(target, [told], catalog, also=also, commands=commands)
    notes = [_OWN_TIERS] if target == LMCACHE and spec.placement == "pool" and spec.nodes > 1 else []
    notes += [_STAGED] if target == HICACHE else []
    return replace(made, notes=(*made.notes, *notes))


def _server(spec: KvPoolSpec, result: Result, catalog: Catalog, target: Target, *, engine: str) -> Server:
    llm = catalog.llm(spec.llm)
    units = int(result.value("prefill_units") or 0)
    return Server(
        engine=engine,
        name=object_name(f"{llm.slug}-prefill"),
        title=_("Prefill units"),
        llm=llm,
        model=model_asked(llm, spec.llm, field="llm"),
        gpu=catalog.gpu(spec.gpu),
        gpus=spec.prefill_gpus,
        gpus_per_node=spec.gpus_per_node,
        ranks=Asked("ranks", spec.prefill_gpus, _("tensor parallel over the GPUs of a unit"), "prefill_gpus"),
        copies=Asked("copies", 1, _("one copy of attention")),
        stages=Asked("stages", 1, _("no pipeline")),
        units=Asked("units", units, _("prefill units for the peak"), metric="prefill_units"),
        asked=tuple(_asked(spec, target)),
    )


def _asked(spec: KvPoolSpec, target: Target) -> Iterator[Asked]:
    yield Asked("kv_dtype", spec.kv_dtype, _("number format of the KV cache"), "kv_dtype")
    yield Asked("eviction", spec.eviction, _("what is dropped first"), "eviction", needed=False)
    if target != HICACHE:
        if spec.hbm_bytes_per_gpu:
            yield Asked("kv_memory_bytes", int(spec.hbm_bytes_per_gpu), _("the HBM tier"), "hbm_bytes_per_gpu")
        name = "LMCacheConnectorV1" if target == LMCACHE else "MooncakeStoreConnector"
        yield Asked(
            "kv_transfer",
            {"kv_connector": name, "kv_role": "kv_both"},
            _("where KV caches go and come from"),
            "placement",
        )
        return
    if spec.kv_bytes_per_token and spec.hbm_bytes_per_gpu:
        tokens = int(spec.hbm_bytes_per_gpu * spec.prefill_gpus / spec.kv_bytes_per_token)
        yield Asked("max_total_tokens", tokens, _("the HBM tier of a unit, in tokens"), "hbm_bytes_per_gpu")
    yield Asked("block_size", spec.block_tokens, _("whole blocks are found again"), "block_tokens")
    yield Asked("host_cache", True, _("tiers below the GPU"), "dram_bytes_per_node")
    writes = {"through": "write_through", "back": "write_back"}[spec.write_mode]
    yield Asked("host_cache_writes", writes, _("when a tier is written"), "write_mode")
    yield Asked("host_cache_layout", "page_first", _("what the store reads without a copy"), "dram_bytes_per_node")
    yield Asked("store", "mooncake", _("one pool over all nodes"), "placement")
    yield Asked("store_prefetch", "timeout", _("a slow read does not hold a prompt for ever"), "placement")
    yield Asked("store_master", MASTER, _("the master of the pool"))
    yield Asked("store_metadata", "P2PHANDSHAKE", _("nodes tell each other where blocks lie"))
    share = spec.dram_bytes_per_node * min(1.0, spec.prefill_gpus / spec.gpus_per_node)
    yield Asked("store_bytes", int(share), _("the DRAM tier, a unit's part of its node"), "dram_bytes_per_node")
    yield Asked("store_protocol", "rdma", _("tiers are read over the network"), "network_bytes_per_s")


def _beside(spec: KvPoolSpec, catalog: Catalog, target: Target) -> Settled:
    """Settings of what holds the tiers inside vLLM, which are those of each GPU."""
    dram, ssd = (size / spec.gpus_per_node for size in (spec.dram_bytes_per_node, spec.ssd_bytes_per_node))
    if target == LMCACHE:
        asked = [
            Asked("chunk", spec.block_tokens, _("whole blocks are found again"), "block_tokens"),
            Asked("host", dram > 0, _("whether there is a DRAM tier"), "dram_bytes_per_node"),
            Asked("host_gb", round(dram / GB, 3), _("the DRAM tier, a GPU's part of its node"), "dram_bytes_per_node"),
        ]
        if ssd:
            asked += [
                Asked("disk", "file:///var/cache/lmcache/", _("where the SSD tier lies"), "ssd_bytes_per_node"),
                Asked("disk_gb", round(ssd / GB, 3), _("the SSD tier, a GPU's part of its node"), "ssd_bytes_per_node"),
            ]
        return settle(catalog.program("lmcache"), asked)
    if target == MOONCAKE:
        asked = [
            Asked("config", "mooncake.json", _("the settings of the pool")),
            Asked("metadata", "P2PHANDSHAKE", _("nodes tell each other where blocks lie")),
            Asked("master", MASTER, _("the master of the pool")),
            Asked(
                "segment", f"{int(dram / GB)}GB", _("the DRAM tier, a GPU's part of its node"), "dram_bytes_per_node"
            ),
            Asked("buffer", BUFFER, _("for a GPU's own reads and writes")),
            Asked("protocol", "rdma", _("tiers are read over the network"), "network_bytes_per_s"),
            Asked("device", "", _("all network devices")),
        ]
        return settle(catalog.program("mooncake"), asked)
    return NOTHING


def _master(catalog: Catalog) -> tuple[tuple[Command, ...], Settled]:
    program = catalog.program("mooncake")
    settled = settle(program, [Asked("port", MASTER_PORT, _("where nodes ask for blocks"))], role="master")
    text = shell.line(program.command, shell.arguments(settled.settings))
    return (Command(_("Master of the pool"), "first, where mooncake-master resolves to", text),), settled


def _refusals(spec: KvPoolSpec, target: Target) -> Iterator[Refusal]:
    if target == LMCACHE:
        return
    if spec.ssd_bytes_per_node:
        reason = "The documentation of the pool's connector has no size for an SSD tier; the design counts on one."
        change = "Set the SSD tier to zero, or choose LMCache."
        yield Refusal("SSD", f"{spec.ssd_bytes_per_node / GB:,.0f} GB/node", reason, change, "ssd_bytes_per_node")
    if spec.dram_bytes_per_node < GB * spec.gpus_per_node:
        reason = "The pool lies in DRAM, of which a GPU's part is less than 1 GB."
        yield Refusal("global_segment_size", "0GB", reason, "Give the DRAM tier a size.", "dram_bytes_per_node")


LAUNCHER = Launcher(targets, start)
