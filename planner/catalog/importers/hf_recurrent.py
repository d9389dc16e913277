"""The state of recurrent layers: what a request keeps in them whatever its length."""

from __future__ import annotations

from planner.catalog.importers import ImportProblem, excerpt
from planner.catalog.importers.hf_layers import LINEAR, Shape
from planner.catalog.importers.hf_reader import Config

_BYTES = {"float32": 4, "fp32": 4, "float": 4, "bfloat16": 2, "float16": 2, "bf16": 2, "fp16": 2}
_CONVOLUTION_BYTES = 2


def state_width(config: Config, *keys: str, usual: str = "bfloat16") -> int:
    """Bytes of a number of the recurrent state; where nothing is said, what engines keep it in by default."""
    key = config.first(*keys)
    if key is None:
        config.remarks.append(f"The width of the recurrent state is not stated; counted as {usual}.")
    word = config.text(key) if key else usual
    if word.removeprefix("torch.") not in _BYTES:
        raise ImportProblem(None, key or keys[0], f"“{excerpt(word)}” is not a known number format")
    return _BYTES[word.removeprefix("torch.")]


def recurrent(
    shape: Shape, config: Config, *, mixers: list[str], kind: str, state: int, convolution: int, params: int
) -> Shape:
    """Note the recurrent layers: ``state`` bytes and ``convolution`` numbers in 16 bits a layer and request."""
    config.mixers = mixers
    if layers := mixers.count(LINEAR):
        shape["linear"] = {
            "layers": layers,
            "state_bytes": layers * (state + convolution * _CONVOLUTION_BYTES),
            "layer_params": params,
            "kind": kind,
        }
    return shape
