"""What problems come and what their answers will be: lengths, prompts, luck, scoring times, as streams of chunks.

All of it is drawn from the seed by the place of the answer in the stream alone, so that every mode and policy sees
the same answers of the same problems (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sims.engine.streams import stream
from sims.parts.lengths import median_for_mean
from sims.parts.records import records

DRAFT = np.dtype([("length", "i8"), ("prompt", "i8"), ("luck", "f8"), ("chance", "f8"), ("score_s", "f8")])
"""An answer to be: its tokens, its prompt's, its luck against its problem's chance, and how long scoring takes."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Log-normal answers cut at the limit on output tokens; the mean of what comes out is ``mean_tokens``."""

    mean_tokens: float
    cv: float = 1.0
    """Standard deviation over mean, before the cut."""
    cap_tokens: int = 32_000
    correlation: float = 0.0
    """How alike the answers of a problem are: correlation of the logarithms (0 … 1)."""

    def __post_init__(self) -> None:
        if not 1 <= self.mean_tokens <= self.cap_tokens:
            raise ValueError(f"mean_tokens must be from 1 to the cap of {self.cap_tokens}, is {self.mean_tokens}")
        if not (math.isfinite(self.cv) and self.cv >= 0):
            raise ValueError(f"cv must be finite and at least 0, is {self.cv}")
        if not 0 <= self.correlation <= 1:
            raise ValueError(f"correlation must be from 0 to 1, is {self.correlation}")

    @property
    def longest(self) -> int:
        return int(self.cap_tokens)

    def draw(self, generator: np.random.Generator, *, groups: int, answers: int) -> NDArray[np.int64]:
        """Lengths [group, answer]."""
        sigma = math.sqrt(math.log1p(self.cv**2))
        z = generator.standard_normal((groups, answers + 1))
        alike = math.sqrt(self.correlation) * z[:, :1] + math.sqrt(1 - self.correlation) * z[:, 1:]
        median = median_for_mean(self.mean_tokens, sigma=sigma, most_tokens=self.cap_tokens)
        drawn = np.rint(median * np.exp(sigma * alike))
        return np.clip(drawn, 1, self.cap_tokens).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Lengths of answers from a trace, drawn with replacement, or ``in_order`` round and round."""

    tokens: NDArray[np.int64]
    in_order: bool = False

    def __post_init__(self) -> None:
        if not len(self.tokens) or int(np.min(self.tokens)) < 1:
            raise ValueError("a trace of lengths must have answers of at least 1 token")

    @property
    def longest(self) -> int:
        return int(np.max(self.tokens))

    def draw(self, generator: np.random.Generator, *, groups: int, answers: int) -> NDArray[np.int64]:
        """Lengths [group, answer]."""
        picks = generator.integers(0, len(self.tokens), (groups, answers))
        return np.asarray(self.tokens, np.int64)[picks]


@dataclass(frozen=True, slots=True)
class Problems:
    """The stream of problems.

    A problem's chance of a right answer is drawn from Beta(``chance_a``, ``chance_b``).
    """

    lengths: Lengths | Measured
    prompt_tokens: float = 0.0
    prompt_cv: float = 0.0
    chance_a: float = 1.0
    chance_b: float = 1.0

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "prompt_cv"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be finite and at least 0, is {getattr(self, name)}")
        for name in ("chance_a", "chance_b"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"{name} must be finite and above 0, is {getattr(self, name)}")

    def chunks(
        self, seed: int, *, groups: int, answers: int, score_mean_s: float, score_cv: float
    ) -> Iterator[np.recarray]:
        """Answers of ``groups`` problems a chunk, without end; the same whatever the chunk."""
        streams = {
            name: stream(seed, name=f"answers: {name}") for name in ("length", "prompt", "luck", "chance", "score")
        }
        first, sigma = 0, math.sqrt(math.log1p(score_cv**2))
        while True:
            chunk = records(DRAFT, count=groups * answers)
            chunk.length = self._lengths(streams["length"], first=first, groups=groups, answers=answers).ravel()
            chunk.prompt = np.repeat(self._prompts(streams["prompt"], count=groups), answers)
            chunk.luck = streams["luck"].random(groups * answers)
            chunk.chance = np.repeat(streams["chance"].beta(self.chance_a, self.chance_b, groups), answers)
            z = streams["score"].standard_normal(groups * answers)
            chunk.score_s = score_mean_s * np.exp(sigma * z - sigma * sigma / 2)
            yield chunk
            first += groups * answers

    def _lengths(self, generator: np.random.Generator, *, first: int, groups: int, answers: int) -> NDArray[np.int64]:
        if isinstance(self.lengths, Measured) and self.lengths.in_order:
            places = (first + np.arange(groups * answers)) % len(self.lengths.tokens)
            return np.asarray(self.lengths.tokens, np.int64)[places].reshape(groups, answers)
        return self.lengths.draw(generator, groups=groups, answers=answers)

    def _prompts(self, generator: np.random.Generator, *, count: int) -> NDArray[np.int64]:
        sigma = math.sqrt(math.log1p(self.prompt_cv**2))
        drawn = self.prompt_tokens * np.exp(sigma * generator.standard_normal(count) - sigma * sigma / 2)
        return np.rint(drawn).astype(np.int64)
