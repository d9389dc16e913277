"""What people write in tables of results, read: LLM, GPU, format, layout, lengths and load."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.core.catalog import Gpu, Llm, UnknownEntry
from tests.validation.shipped import catalog

ENGINES = (("vllm", "vllm"), ("sglang", "sglang"), ("trtllm", "tensorrt_llm"), ("tensorrt", "tensorrt_llm"))
FORMATS = (("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("int4", "int4"), ("fp4", "nvfp4"), ("fp8", "fp8"), ("fp16", "fp16"))
FORMATS_AFTER = (*FORMATS, ("bf16", "bf16"))
ONE_OF_A_PAIR = {"deepseek-v3/r1": "deepseek-v3", "glm-5-fp8": "glm-5", "kimi-k2-instruct": "kimi-k2"}
_FULL_LAYOUT = re.compile(r"^TP(\d+) PP(\d+) attnDP(\d+) moeTP(\d+) moeEP(\d+)$")
_PLAIN_LAYOUT = re.compile(r"^TP(\d+)(?: PP(\d+))?(?: x (\d+) replica)?$", re.IGNORECASE)
_POOLS = re.compile(r"^P (\d*)x\(TP(\d+) DP(\d+) EP(\d+)\) D (\d*)x\(TP(\d+) DP(\d+) EP(\d+)\)$")


class UnreadError(ValueError):
    """The words do not say what is needed; the message says what is missing, as a sentence."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How one replica is placed, and how many there are."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    experts: int | None = None
    replicas: int = 1

    @property
    def gpus(self) -> int:
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True, slots=True)
class Pools:
    """Workers that prefill and workers that decode."""

    prefill_workers: int
    prefill: Cut
    decode_workers: int
    decode: Cut


def llm_of(words: str) -> Llm:
    """The LLM of the catalog; remarks in brackets, organisation and number format are no part of its name.

    >>> llm_of("Llama-3.1-405B (8xH100 1FP8-meta)").slug
    'llama-3-1-405b'
    """
    plain = re.sub(r"\(.*?\)", "", words).strip()
    name = plain.lower()
    tried = (
        ONE_OF_A_PAIR.get(name, plain),
        plain.split("/")[-1],
        re.sub(r"-(fp8|bf16|instruct)$", "", name.split("/")[-1]),
    )
    for candidate in tried:
        try:
            return catalog().llm(candidate)
        except UnknownEntry:
            continue
    raise UnreadError(f"The catalog has no LLM “{words}”." if words else "The row names no LLM.")


def gpu_of(words: str) -> Gpu:
    """The GPU of the catalog."""
    for candidate in (
        words,
        words.replace("_", "-"),
        words.lower().replace("a100-80gb", "a100-sxm-80gb").replace("h100-80gb", "h100-sxm"),
    ):
        try:
            return catalog().gpu(candidate)
        except UnknownEntry:
            continue
    raise UnreadError(
        "The row does not say which GPU."
        if not words or "not in file" in words
        else f"The catalog has no GPU “{words}”."
    )


def engine_of(words: str) -> str:
    """The engine by its first name; Splitwise profiled with vLLM and DeepSpeed."""
    lowered = words.lower()
    for name, engine in ENGINES:
        if name in lowered:
            return engine
    raise UnreadError(f"The catalog has no engine “{words}”." if words else "The row does not say which engine.")


def format_of(words: str) -> str | None:
    """Number format of the weights; of a pair the one of the experts. None: the row does not say, the LLM's own.

    >>> format_of("fp8 attn + nvfp4 moe")
    'nvfp4'
    """
    lowered = words.lower()
    experts = re.search(r"moe=(\S+)", lowered) or re.search(r"(\S+) moe", lowered)
    searched = experts.group(1) if experts else lowered
    return next((mine for theirs, mine in FORMATS_AFTER if theirs in searched), None)


def cut_of(words: str, *, engine: str, row: str = "") -> Cut:
    """Placement of an aggregated replica.

    Products in public dumps are undone: attention copies stand inside the tensor-parallel ranks of SGLang and
    TensorRT-LLM, vLLM writes TP and DP for the same GPUs, and a tag ``tpN_epM`` in the row's name is the truth.
    """
    words = words.replace("(not stated on the page)", "").strip()
    if found := _FULL_LAYOUT.match(words):
        tensor, pipeline, data, _, experts = (int(part) for part in found.groups())
        if tag := re.search(r"_tp(\d+)_ep(\d+|none)", row):
            tensor = int(tag.group(1))
            experts = int(tag.group(2)) if tag.group(2).isdigit() else 1
        if data > 1 and tensor >= data:
            tensor = tensor // data
        gpus = tensor * data
        return Cut(tensor=tensor, pipeline=pipeline, data=data, experts=min(experts, gpus))
    if found := _PLAIN_LAYOUT.match(words):
        tensor, pipeline, replicas = (int(part) if part else 1 for part in found.groups())
        return Cut(tensor=tensor, pipeline=pipeline, replicas=replicas)
    if not words:
        raise UnreadError("The row does not say how the GPUs share the work.")
    raise UnreadError(f"The layout “{words}” is not one of a single replica.")


def pools_of(words: str) -> Pools:
    """Placement of a disaggregated run; worker counts are often missing."""
    found = _POOLS.match(words)
    if found is None:
        raise UnreadError(f"The layout “{words}” does not say how prefill and decode are placed.")
    if not found.group(1) or not found.group(5):
        raise UnreadError("The row does not say how many workers prefill and decode have.")
    prefill, decode = ([int(part) for part in found.groups()[at : at + 4]] for at in (0, 4))
    return Pools(
        prefill_workers=prefill[0],
        prefill=Cut(tensor=prefill[1], data=prefill[2], experts=prefill[3]),
        decode_workers=decode[0],
        decode=Cut(tensor=decode[1], data=decode[2], experts=decode[3]),
    )


def tokens_of(words: str, *, what: str) -> float:
    """A length; ranges, medians and names of data sets are none."""
    try:
        return float(words)
    except ValueError:
        said = f"as “{words}”" if words else "not at all"
        raise UnreadError(f"The {what} is given {said}, which is no mean length.") from None


def number(words: str) -> float | None:
    """A figure, or None where there is none."""
    try:
        return float(words)
    except ValueError:
        return None


def per_gpu(words: str) -> float:
    """A batch or a step of one GPU, as in “256/GPU” and “16384 tok/GPU”."""
    found = re.match(r"^(\d+)(?: tok)?/GPU$", words)
    if found is None:
        raise UnreadError("The row does not say the batch of a GPU.")
    return float(found.group(1))


def expert_ranks(words: str) -> int:
    """Ranks that share the experts, as in “EP72 DP-attn”."""
    found = re.search(r"EP(\d+)", words)
    if found is None:
        raise UnreadError("The row does not say over how many GPUs the experts lie.")
    return int(found.group(1))
