"""A request as the plain simulations know it, and the sums by which they are compared with a compiled run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from sims.parts.arrivals import Arrivals


@dataclass(slots=True, eq=False)
class Ask:
    """One request; ``tokens_s`` are the moments at which its tokens leave."""

    sent_s: float
    input: int
    cached: int
    output: int
    computed: int = 0
    made: int = 0
    tokens_s: list[float] = field(default_factory=list)
    finish_s: float = math.nan
    refused: bool = False
    restarts: int = 0

    @property
    def context(self) -> int:
        """Prompt and answer so far [tokens]."""
        return self.input + self.made

    @property
    def whole(self) -> int:
        """Prompt and full answer [tokens]."""
        return self.input + self.output

    @property
    def todo(self) -> int:
        """Tokens of the context that no KV is held of."""
        return self.context - self.computed

    @property
    def is_done(self) -> bool:
        return not math.isnan(self.finish_s)

    def give(self, now_s: float) -> None:
        """A token leaves, or the prompt of an answer without tokens is through."""
        self.tokens_s.append(now_s)
        self.made = min(self.output, self.made + 1)
        if self.made == self.output:
            self.finish_s = now_s


@dataclass(frozen=True, slots=True)
class Sums:
    """What is added up over all requests."""

    arrived: int
    finished: int
    refused: int
    ttft_n: int
    ttft_sum_s: float
    e2e_sum_s: float
    tpot_n: int
    tpot_sum_s: float
    restarted: int

    @classmethod
    def of(cls, asks: Iterable[Ask], *, gateway_s: float) -> Sums:
        """Latencies count from the gateway."""
        rows = list(asks)
        done = [ask for ask in rows if ask.is_done]
        long = [ask for ask in done if ask.output > 1]
        return cls(
            arrived=len(rows),
            finished=len(done),
            refused=sum(ask.refused for ask in rows),
            ttft_n=sum(bool(ask.tokens_s) for ask in rows),
            ttft_sum_s=sum(ask.tokens_s[0] - ask.sent_s + gateway_s for ask in rows if ask.tokens_s),
            e2e_sum_s=sum(ask.finish_s - ask.sent_s + gateway_s for ask in done),
            tpot_n=len(long),
            tpot_sum_s=sum((ask.finish_s - ask.tokens_s[0]) / (ask.output - 1) for ask in long),
            restarted=sum(ask.restarts for ask in rows),
        )


def asked(arrivals: Arrivals, *, seed: int) -> list[Ask]:
    """The requests of a source in order of arrival."""
    rows = (row for chunk in arrivals.chunks(seed) for row in chunk)
    return [Ask(float(row["at_s"]), int(row["input"]), int(row["cached"]), int(row["output"])) for row in rows]
