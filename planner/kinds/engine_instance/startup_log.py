"""What an engine printed at start-up: memory figures, and the settings it ran with.

Only words around the numbers are looked for, so prefixes, time stamps, colours and other lines do not matter. Ranks
print the same lines: the tightest one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

GIB = 2.0**30
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SIZE = r"(-?[\d,]+(?:\.\d+)?) ?(?:GiB|GB)"
_WHOLE = r"([\d,]+)"
Pick = Callable[[Sequence[float]], float]


def _last(values: Sequence[float]) -> float:
    return values[-1]


@dataclass(frozen=True, slots=True)
class Readings:
    """Figures of a log in bytes and counts (``figures``), and the fields of a spec it names (``settings``)."""

    engine: str
    figures: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    pattern: re.Pattern[str]
    pick: Pick
    unit: float = 1.0


def _size(name: str, pattern: str, pick: Pick = max) -> _Line:
    return _Line(name, re.compile(pattern.replace("SIZE", _SIZE), re.IGNORECASE), pick, GIB)


def _count(name: str, pattern: str, pick: Pick = min) -> _Line:
    return _Line(name, re.compile(pattern.replace("WHOLE", _WHOLE), re.IGNORECASE), pick)


_FIGURES: Mapping[str, tuple[_Line, ...]] = {
    "vllm": (
        _size("visible", r"total_gpu_memory ?[(=] ?SIZE"),
        _size("visible", r"free memory on device \([\d.]+/SIZE\)"),
        _size("weights", r"(?:loading model weights|model loading) took SIZE"),
        _size("weights", r"model weights take SIZE"),
        _size("weights", r"actual usage is SIZE for weight"),
        _size("activation", r"activation peak memory takes SIZE"),
        _size("activation", r"SIZE for peak activation"),
        _size("peak_torch", r"peak_torch_memory ?= ?SIZE"),
        _size("non_torch", r"non_torch_memory takes SIZE"),
        _size("non_torch", r"non_torch_memory ?= ?SIZE"),
        _size("non_torch", r"SIZE for non-torch memory"),
        _size("kv_pool", r"reserved for kv cache is SIZE", min),
        _size("kv_pool", r"kv_cache_size ?= ?SIZE", min),
        _size("kv_pool", r"available kv cache memory: SIZE", min),
        _size("graph", r"graph capturing finished in .*?took SIZE"),
        _count("blocks", r"# (?:gpu|cuda|rocm|hip) blocks: WHOLE"),
        _count("tokens", r"gpu kv cache size: WHOLE tokens"),
        _count("concurrency", r"maximum concurrency for [\d,]+ tokens per request: ([\d.,]+?)x"),
    ),
    "sglang": (
        _size("free_before", r"load weight begin\.? avail mem ?= ?SIZE", min),
        _size("free_after", r"load weight end\.?.*?avail mem ?= ?SIZE", min),
        _size("weights", r"load weight end\.?.*?mem usage ?= ?SIZE"),
        _size("kv_pool", r"kv cache is allocated.*?[, ]kv size: SIZE", min),
        _size("graph", r"capture (?:decode |target )?cuda graph end.*?mem usage ?= ?SIZE"),
        _count("tokens", r"max_total_num_tokens ?= ?WHOLE"),
        _count("pool_tokens", r"kv cache is allocated.*?#tokens: WHOLE"),
    ),
    "tensorrt_llm": (
        _size("kv_pool", r"allocated SIZE for max tokens in paged kv cache", min),
        _size("visible", r"max tokens in paged kv cache: total: SIZE"),
        _size("free_after_trial", r"max tokens in paged kv cache: total: [\d.]+ GiB, available: SIZE", min),
        _size("peak", r"peak memory during memory usage profiling[^:]*: SIZE"),
        _count("tokens", r"for max tokens in paged kv cache \(WHOLE\)"),
    ),
}
_K_AND_V = re.compile(r"kv cache is allocated.*?\bk size: " + _SIZE + r",? *v size: " + _SIZE, re.IGNORECASE)
_RANK = re.compile(r"\b(?:TP|DP|PP)\d+(?: \w+\d+)*\b")

_NUMBER, _WORD = r"['\"]?\s*[=:]\s*['\"]?(\d+(?:\.\d+)?)", r"['\"]?\s*[=:]\s*['\"]?([\w.+-]+)"
_SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vllm": {
        "engine_version": (r"llm engine \(v([\w.+-]+)\)", r"api server version ([\w.+-]+)"),
        "memory_fraction": (
            r"gpu_memory_utilization \((\d\.\d+)\)",
            "gpu_memory_utilization" + _NUMBER,
            r"desired gpu memory utilization is \((\d\.\d+)",
        ),
        "tensor_parallel": ("tensor_parallel_size" + _NUMBER,),
        "pipeline_parallel": ("pipeline_parallel_size" + _NUMBER,),
        "max_model_len": (
            r"maximum concurrency for ([\d,]+) tokens per request",
            "max_seq_len" + _NUMBER,
            "max_model_len" + _NUMBER,
        ),
        "max_num_seqs": ("max_num_seqs" + _NUMBER,),
        "max_num_batched_tokens": ("max_num_batched_tokens" + _NUMBER,),
        "kv_dtype": ("kv_cache_dtype" + _WORD,),
        "eager": ("enforce_eager" + _WORD,),
    },
    "sglang": {
        "memory_fraction": ("mem_fraction_static" + _NUMBER,),
        "tensor_parallel": ("tp_size" + _NUMBER,),
        "pipeline_parallel": ("pp_size" + _NUMBER,),
        "kv_dtype": ("kv_cache_dtype" + _WORD, r"using kv cache dtype: ([\w.]+)"),
        "eager": ("disable_cuda_graph" + _WORD,),
    },
    "tensorrt_llm": {
        "engine_version": (r"tensorrt-llm version:? ?([\w.]+)",),
        "memory_fraction": (r"fraction is set (\d\.\d+)",),
        "block_size": (r"number of tokens per block: (\d+)",),
    },
}
_WHOLE_SETTINGS = ("tensor_parallel", "pipeline_parallel", "max_model_len", "max_num_seqs", "max_num_batched_tokens")
_KV_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_WANTED = {
    "vllm": "“Available KV cache memory”, “GPU KV cache size”, “Memory profiling takes”, “Model loading took” of vLLM",
    "sglang": "“Load weight begin”, “KV Cache is allocated” or “max_total_num_tokens” of SGLang",
    "tensorrt_llm": "“for max tokens in paged KV cache” of TensorRT-LLM",
}


@lru_cache(maxsize=64)
def read(text: str) -> Readings:
    """The figures of a log; raises ValueError when there are none, naming the lines that would do."""
    plain = _COLOUR.sub("", text)
    found = {engine: _figures(plain, lines) for engine, lines in _FIGURES.items()}
    engine = max(found, key=lambda name: len(found[name]))
    if not found[engine]:
        raise ValueError(f"No line of a start-up was found. What helps: {'; '.join(_WANTED.values())}.")
    figures = found[engine]
    if engine == "sglang":
        figures |= _k_and_v(plain)
    if "peak_torch" in figures and "weights" in figures:
        figures.setdefault("activation", max(figures["peak_torch"] - figures["weights"], 0.0))
    return Readings(engine, figures, _settings(plain, engine))


def _figures(text: str, lines: Sequence[_Line]) -> dict[str, float]:
    """Each figure by the first of its patterns that occurs."""
    found: dict[str, float] = {}
    for line in lines:
        values = [_number(match) * line.unit for match in line.pattern.findall(text)]
        if values and line.name not in found:
            found[line.name] = line.pick(values)
    return found


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _k_and_v(text: str) -> dict[str, float]:
    """SGLang prints a line a pool and rank: the pools of the first rank together."""
    total, first = 0.0, None
    for line in text.splitlines():
        match = _K_AND_V.search(line)
        if match is None:
            continue
        rank = _RANK.search(line)
        name = rank[0] if rank else ""
        first = name if first is None else first
        if name == first:
            total += (_number(match[1]) + _number(match[2])) * GIB
    return {"kv_pool": total} if total else {}


def _settings(text: str, engine: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, patterns in _SETTINGS[engine].items():
        words = next((match[1] for pattern in patterns if (match := re.search(pattern, text, re.IGNORECASE))), None)
        value = None if words is None else _meant(name, words)
        if value is not None:
            found[name] = value
    if "eager" in found:
        found["graph_capture"] = not found.pop("eager")
    return found


def _meant(name: str, words: str) -> object:
    if name in _WHOLE_SETTINGS or name == "block_size":
        return int(_number(words))
    if name == "memory_fraction":
        return float(words) if 0 < float(words) <= 1 else None
    if name == "eager":
        return words.lower() == "true"
    if name == "kv_dtype":
        word = words.lower().rpartition("torch.")[2].rpartition("float8")
        return "fp8" if word[1] or words.lower().startswith("fp8") else _KV_DTYPES.get(words.lower().split(".")[-1])
    return words
