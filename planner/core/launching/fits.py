"""What would not start, whatever the options take: shapes, memory, number formats."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.launch import Program, Refusal, Setting
from planner.core.launching.options import Settled
from planner.core.launching.server import Server, stored_format
from planner.core.quantities import show

_WHILE_LOADING = ("fp8",)
"""Formats that engines make of a wider checkpoint while they load it."""


def refusals(server: Server, program: Program, settled: Settled) -> Iterator[Refusal]:
    """Settings that the LLM, the GPU or the shape of a unit rules out."""
    yield from (
        *_vendor(server, program, settled),
        *_world(server, settled),
        *_heads(server, settled),
        *_stages(server, settled),
        *_experts(server, program, settled),
        *_copies(server, program, settled),
        *_formats(server, program),
        *_drafts(server, settled),
        *_batch(program, settled),
    )


def _of(settled: Settled, name: str) -> Setting | None:
    return next((each for each in settled.settings if each.option.name == name), None)


def _refused(
    setting: Setting | None, reason: str, change: str, *, role: str, flag: str = "", field: str = ""
) -> Refusal:
    if setting is None:
        return Refusal(flag, "", reason, change, field, role)
    return Refusal(setting.flag, setting.text, reason, change, setting.asked.field or field, role)


def _vendor(server: Server, program: Program, settled: Settled) -> Iterator[Refusal]:
    if program.vendors and server.gpu.vendor not in program.vendors:
        makers = " and ".join(program.vendors)
        reason = f"{program.name} runs on GPUs of {makers}; {server.gpu.name} is of {server.gpu.vendor}."
        yield _refused(_of(settled, "model"), reason, "Choose another engine, or another GPU.", role=server.role)


def _world(server: Server, settled: Settled) -> Iterator[Refusal]:
    ranks, copies, stages = server.ranks.value, server.copies.value, server.stages.value
    if ranks * copies * stages != server.gpus:
        reason = f"{ranks} × {copies} × {stages} ranks are not the {server.gpus} GPUs of a unit."
        change = "Choose ranks, copies and stages whose product is the GPUs of the unit."
        yield _refused(_of(settled, "tensor_parallel"), reason, change, role=server.role)


def _heads(server: Server, settled: Settled) -> Iterator[Refusal]:
    ranks, llm = server.ranks.value, server.llm
    setting = _of(settled, "tensor_parallel")
    if llm.heads % ranks:
        fitting = [each for each in range(1, llm.heads + 1) if llm.heads % each == 0 and each <= ranks]
        reason = f"{llm.name} has {llm.heads} attention heads, which {ranks} ranks cannot share alike."
        yield _refused(setting, reason, f"Use {fitting[-1]} ranks, say: a divisor of {llm.heads}.", role=server.role)
    elif llm.mla is None and llm.kv_heads and max(ranks, llm.kv_heads) % min(ranks, llm.kv_heads):
        reason = f"{llm.kv_heads} KV heads and {ranks} ranks: neither divides the other."
        yield _refused(setting, reason, f"Use a number of ranks that divides {llm.kv_heads}.", role=server.role)


def _stages(server: Server, settled: Settled) -> Iterator[Refusal]:
    if server.stages.value > server.llm.layers:
        reason = f"{server.llm.name} has {server.llm.layers} layers, fewer than {server.stages.value} stages."
        yield _refused(_of(settled, "pipeline_parallel"), reason, "Use fewer stages.", role=server.role)


def _experts(server: Server, program: Program, settled: Settled) -> Iterator[Refusal]:
    asked, copies = server.asks("experts"), server.asks("redundant_experts")
    if asked is None or asked.value <= 1:
        return
    setting = _of(settled, "expert_parallel")
    if server.llm.moe is None:
        reason = f"{server.llm.name} has no experts to share."
        yield _refused(setting, reason, "Set expert parallel to 1.", role=server.role, field=asked.field)
        return
    known = {"redundant_experts", "balance_settings"} & set(program.options)
    spare = int(copies.value) if copies is not None and known else 0
    if (server.llm.moe.experts + spare) % asked.value:
        total = f"{server.llm.moe.experts} experts" + (f" and {spare} copies" if spare else "")
        reason = f"{total} cannot lie alike on {asked.value} GPUs."
        more = -(server.llm.moe.experts + spare) % asked.value + spare
        others = f"{more} redundant experts would, or " if known else ""
        change = f"{others}a unit whose GPUs divide {server.llm.moe.experts + spare}."
        change = change[0].upper() + change[1:]
        yield _refused(setting, reason, change, role=server.role, field=asked.field)


def _copies(server: Server, program: Program, settled: Settled) -> Iterator[Refusal]:
    copies, ranks = server.copies.value, server.ranks.value
    if copies <= 1:
        return
    setting = _of(settled, "data_parallel") or _of(settled, "attention_copies")
    if server.engine == "tensorrt_llm" and ranks > 1:
        reason = f"{program.name} gives each GPU a copy of attention; the design spreads a copy over {ranks}."
        yield _refused(setting, reason, "Use one GPU a copy, or tensor parallel alone.", role=server.role)
    if server.nodes > 1 and copies % server.nodes and server.engine != "tensorrt_llm":
        reason = f"{copies} copies of attention cannot lie alike on {server.nodes} nodes."
        yield _refused(setting, reason, "Choose copies that the nodes divide.", role=server.role)


def _formats(server: Server, program: Program) -> Iterator[Refusal]:
    weights, kv = server.asks("weights"), server.asks("kv_dtype")
    for asked, what in ((weights, "weights"), (kv, "KV cache")):
        figure = program.needs.get(str(asked.value)) if asked is not None else None
        if asked is not None and figure and not server.gpu.has(figure):
            reason = (
                f"{program.name} runs {asked.value.upper()} where the GPU computes in it; "
                f"the catalog has no such rate of {server.gpu.name}."
            )
            yield Refusal(what, asked.value, reason, "Choose another format or another GPU.", asked.field, server.role)
    stored = stored_format(server)
    wide = ("bf16", "fp16")
    if weights is None or weights.value == stored or (weights.value in wide and stored in wide):
        return
    if weights.value not in _WHILE_LOADING or stored not in wide or server.engine == "tensorrt_llm":
        reason = (
            f"{server.model.value} is in {stored.upper()}, and no option makes {weights.value.upper()} of it "
            "while it loads."
        )
        change = f"Name a checkpoint in {weights.value.upper()} as the LLM, by its name on Hugging Face."
        yield Refusal("weights", str(weights.value), reason, change, weights.field, server.role)


def _drafts(server: Server, settled: Settled) -> Iterator[Refusal]:
    asked = server.asks("draft")
    if asked is not None and asked.value > 0 and not server.llm.mtp_layers:
        setting = _of(settled, "draft") or _of(settled, "draft_steps")
        reason = f"The catalog knows no draft layer of {server.llm.name}."
        yield _refused(
            setting, reason, "Switch drafting off, or choose an LLM that brings its draft layer.", role=server.role
        )


def _batch(program: Program, settled: Settled) -> Iterator[Refusal]:
    step, sequences = _of(settled, "max_num_batched_tokens"), _of(settled, "max_num_seqs")
    if program.slug == "vllm" and step and sequences and step.value < sequences.value:
        reason = f"A step of {step.value:,} tokens has no room for one of each of {sequences.value:,} running requests."
        yield _refused(step, reason, f"Allow {sequences.value:,} tokens a step, or fewer requests.", role=step.role)


def longest(settled: Settled, *, pool_tokens: float | None, field: str, role: str = "") -> Iterator[Refusal]:
    """A request longer than the KV pool never runs; an engine does not start, or refuses it."""
    setting = _of(settled, "max_model_len")
    if setting is None:
        return
    if pool_tokens is None or pool_tokens < 1:
        yield _refused(
            setting,
            "There is no KV pool: the weights leave no memory for it.",
            "Use more GPUs.",
            role=role,
            field=field,
        )
    elif setting.value > pool_tokens:
        room = int(pool_tokens)
        reason = f"Requests of {setting.value:,} tokens are allowed, and the KV pool holds {show(room, 'tokens')}."
        yield _refused(
            setting, reason, f"Allow at most {room:,} tokens, or leave more memory to the pool.", role=role, field=field
        )
