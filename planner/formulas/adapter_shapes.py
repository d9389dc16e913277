"""The weight matrices of an LLM that a low-rank adapter can be laid on, with how tensor parallelism cuts them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from planner.core.llm import CompressedKv, Llm, Mla
from planner.formulas import moe
from planner.formulas.parameters import attention_layers, dense_layers

Cut = Literal["column", "row", "whole"]
"""Tensor parallelism splits the outputs, the inputs, or leaves the matrix whole on each rank."""

ATTENTION = ("q", "k", "v", "o")
MLP = ("gate", "up", "down")
LINEAR = (*ATTENTION, *MLP)
"""The seven projections of a dense layer."""
TARGETS = (*LINEAR, "shared_experts", "experts", "embedding", "head")
"""What an adapter may name. With latent attention q means both query projections, k or v both of keys and values."""

_COVERED = {"q_a": "q", "q_b": "q", "kv_a": "kv", "kv_b": "kv", "o_a": "o", "o_b": "o"}


@dataclass(frozen=True, slots=True)
class Matrix:
    """Matrices that are alike.

    Parameters
    ----------
    target : name
    d_in, d_out : inputs and outputs [1]
    count : matrices in all layers, copies for experts included [1]
    cut : by tensor parallelism
    pieces : equal parts of the outputs that are not cut further (heads); 0: any [1]
    layers : that have it; 0: as many as there are matrices [1]
    joins : an engine makes it in one product with a matrix named before it
    routed : there is one for each routed expert
    """

    target: str
    d_in: int
    d_out: int
    count: int
    cut: Cut = "column"
    pieces: int = 0
    layers: int = 0
    joins: bool = False
    routed: bool = False

    @property
    def calls(self) -> int:
        """Products in a step when none is joined: experts of a layer are one."""
        return self.layers or self.count


@lru_cache(maxsize=256)
def adapted_matrices(llm: Llm, *, targets: frozenset[str]) -> tuple[Matrix, ...]:
    """The matrices of an LLM that adapters with these targets have factors for.

    Parameters
    ----------
    llm : its shapes
    targets : of `TARGETS`, or names of single matrices of latent attention (q_a, q_b, kv_a, kv_b)

    Returns
    -------
    empty if the LLM has none of them

    Notes
    -----
    Layers with a window have their own shapes; recurrent mixers and compressors carry no adapter. Projections that an
    engine fuses into one product (q, k and v; gate and up) are one call.

    References
    ----------
    E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685, section 4.2 (which
    matrices); DeepSeek-AI, "DeepSeek-V2", 2024, arXiv:2405.04434, equations 9-16 (latent attention).

    >>> from planner.core.llm import Llm
    >>> llm = Llm("8b", "", "", 32, 4096, 32, 8, 128, 14336, 128256, False, 8192, "bf16", "")
    >>> [(m.target, m.d_in, m.d_out) for m in adapted_matrices(llm, targets=frozenset({"q", "v"}))]
    [('q', 4096, 4096), ('v', 4096, 1024)]
    """
    found = [each for each in _all(llm) if _wanted(each.target, targets)]
    return tuple(_with_calls(found, llm))


def target_names(llm: Llm, *, targets: Collection[str]) -> tuple[str, ...]:
    """Those of the targets that the LLM has matrices for, in the order of `TARGETS`.

    >>> from planner.core.llm import Llm
    >>> dense = Llm("8b", "", "", 32, 4096, 32, 8, 128, 14336, 128256, False, 8192, "bf16", "")
    >>> target_names(dense, targets={"experts", "v", "q"})
    ('q', 'v')
    """
    return tuple(name for name in TARGETS if name in targets and adapted_matrices(llm, targets=frozenset({name})))


def _wanted(target: str, targets: frozenset[str]) -> bool:
    name = target.partition(".")[0]
    covered = _COVERED.get(name)
    if name in targets or covered in targets:
        return True
    return covered == "kv" and bool({"k", "v"} & targets)


def _all(llm: Llm) -> list[Matrix]:
    return [*_attention(llm), *_mlp(llm), *_vocabulary(llm)]


def _attention(llm: Llm) -> list[Matrix]:
    layers, window = attention_layers(llm), llm.sliding
    if llm.compressed:
        return _compressed(llm, llm.compressed, layers=layers)
    if llm.mla:
        return _latent(llm, llm.mla, layers=layers)
    full = _grouped(
        llm,
        layers=layers - (window.layers if window else 0),
        heads=(llm.heads, llm.kv_heads),
        width=llm.head_dim,
        v_width=llm.v_dim or llm.head_dim,
    )
    if llm.shared_kv_projection:
        full = [each for each in full if each.target != "v"]
    if window is None:
        return full
    width = window.head_dim or llm.head_dim
    own = _grouped(
        llm,
        layers=window.layers,
        heads=(window.heads or llm.heads, window.kv_heads or llm.kv_heads),
        width=width,
        v_width=window.v_dim or (window.head_dim or llm.v_dim or width),
        suffix=".window",
    )
    return [*full, *own]


def _grouped(
    llm: Llm, *, layers: int, heads: tuple[int, int], width: int, v_width: int, suffix: str = ""
) -> list[Matrix]:
    queries, keys = heads
    q_out = queries * width * (2 if llm.gated_attention else 1)
    rows = [
        Matrix("q" + suffix, llm.hidden, q_out, layers, pieces=queries),
        Matrix("k" + suffix, llm.hidden, keys * width, layers, pieces=keys),
        Matrix("v" + suffix, llm.hidden, keys * v_width, layers, pieces=keys),
        Matrix("o" + suffix, queries * v_width, llm.hidden, layers, "row"),
    ]
    return [each for each in rows if each.count]


def _latent(llm: Llm, mla: Mla, *, layers: int) -> list[Matrix]:
    query = llm.heads * (mla.nope_dim + mla.rope_dim)
    found = [
        Matrix("kv_a", llm.hidden, mla.kv_lora_rank + mla.rope_dim, layers, "whole"),
        Matrix("kv_b", mla.kv_lora_rank, llm.heads * (mla.nope_dim + mla.v_dim), layers, pieces=llm.heads),
        Matrix("o", llm.heads * mla.v_dim, llm.hidden, layers, "row"),
    ]
    if not mla.q_lora_rank:
        return [Matrix("q", llm.hidden, query, layers, pieces=llm.heads), *found]
    low = Matrix("q_a", llm.hidden, mla.q_lora_rank, layers, "whole")
    return [low, Matrix("q_b", mla.q_lora_rank, query, layers, pieces=llm.heads), *found]


def _compressed(llm: Llm, shape: CompressedKv, *, layers: int) -> list[Matrix]:
    wide = llm.heads * llm.head_dim
    return [
        Matrix("q_a", llm.hidden, shape.q_lora_rank, layers, "whole"),
        Matrix("q_b", shape.q_lora_rank, wide, layers, pieces=llm.heads),
        Matrix("kv_a", llm.hidden, llm.head_dim, layers, "whole"),
        Matrix("o_a", wide // shape.o_groups, shape.o_lora_rank, layers * shape.o_groups, "whole"),
        Matrix("o_b", shape.o_groups * shape.o_lora_rank, llm.hidden, layers, "row"),
    ]


def _mlp(llm: Llm) -> list[Matrix]:
    found = _gated(llm, "", llm.hidden, llm.intermediate, dense_layers(llm))
    if llm.moe is None:
        return found
    layers = moe.expert_layers(llm)
    width = llm.moe.shared_width or llm.moe.expert_width
    shared = max(llm.moe.shared_experts, 1) if llm.moe.shared_experts or llm.moe.shared_width else 0
    found += _gated(llm, "shared_experts.", llm.hidden, width, layers * shared)
    inner = llm.moe.latent_width or llm.hidden
    return [*found, *_gated(llm, "experts.", inner, llm.moe.expert_width, layers * llm.moe.experts)]


def _gated(llm: Llm, prefix: str, hidden: int, width: int, count: int) -> list[Matrix]:
    """Gate (where there is one), up and down projection."""
    names = MLP if llm.mlp_matrices == len(MLP) else MLP[1:]
    routed = prefix == "experts."
    up = [Matrix(prefix + name, hidden, width, count, routed=routed) for name in names[:-1]]
    return [*up, Matrix(prefix + "down", width, hidden, count, "row", routed=routed)] if count else []


def _vocabulary(llm: Llm) -> list[Matrix]:
    table = [Matrix("embedding", llm.vocab, llm.hidden, 1, "whole")]
    return table if llm.tied_embeddings else [*table, Matrix("head", llm.hidden, llm.vocab, 1)]


_FUSED = {"q": "qkv", "k": "qkv", "v": "qkv", "q_a": "qkv_a", "kv_a": "qkv_a", "gate": "gate_up", "up": "gate_up"}


def _with_calls(matrices: list[Matrix], llm: Llm) -> list[Matrix]:
    """Which layers have each matrix, and which are made in one product with one before."""
    seen: set[str] = set()
    found = []
    for each in matrices:
        call = _call_of(each.target)
        found.append(replace(each, layers=_layers_of(each, llm), joins=call in seen))
        seen.add(call)
    return found


def _call_of(target: str) -> str:
    name, _, rest = target.partition(".")
    if rest in MLP:
        return f"{name}.{_FUSED.get(rest, rest)}"
    return f"{_FUSED.get(name, name)}.{rest}"


def _layers_of(each: Matrix, llm: Llm) -> int:
    return moe.expert_layers(llm) if "experts" in each.target else min(each.count, llm.layers)
