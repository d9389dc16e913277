"""Prefill units, a network and decode units, a step at a time, everything in plain lists.

A prompt goes to a prefill unit and there to the rank with the fewest tokens queued. The ranks of a unit step
together: each takes prompts in order up to its budget, and the step is as long as the fullest rank needs. The KV of
a prompt that is through leaves over the rank's own network to the decode unit with the least pledged; a transfer
waits until both ends are free. At the end of a step a decode unit admits what has come, in the order of coming, while
its reservations (prompt and full answer) fit; the first that does not holds up the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sims.systems.llm_serving import Config
from tests.sims.oracle.asks import Ask
from tests.sims.oracle.course import NEVER, Router, Source, follow


class PrefillRank:
    """A queue with a token budget a step and a network of its own."""

    def __init__(self) -> None:
        self.queue: list[Ask] = []
        self.through: list[Ask] = []
        self.egress_free_s = 0.0

    @property
    def load(self) -> int:
        return sum(ask.todo for ask in self.queue)

    def fill(self, budget_tokens: int) -> int:
        """Take what the next step computes; how many tokens."""
        left = budget_tokens
        while self.queue and left > 0:
            ask = self.queue[0]
            take = min(ask.todo, left)
            ask.computed += take
            left -= take
            if ask.todo == 0:
                self.through.append(self.queue.pop(0))
        return budget_tokens - left


class PrefillUnit:
    """Ranks in lockstep."""

    def __init__(self, config: Config, *, to: Callable[[Ask, PrefillRank, float], None]) -> None:
        self._config = config
        self._to = to
        self.ranks = [PrefillRank() for _ in range(config.prefill_ranks)]
        self.next_s = NEVER
        self._under_way = 0

    @property
    def load(self) -> int:
        """Prompt tokens queued or in the step that runs."""
        return self._under_way + sum(rank.load for rank in self.ranks)

    def take(self, ask: Ask, now_s: float) -> None:
        min(self.ranks, key=lambda rank: rank.load).queue.append(ask)
        if self.next_s == NEVER:
            self._begin(now_s)

    def _begin(self, now_s: float) -> None:
        config = self._config
        taken = [rank.fill(config.prefill_budget_tokens) for rank in self.ranks]
        self._under_way = sum(taken)
        step_s = config.prefill_step_s + max(taken) * config.prefill_s_per_token
        self.next_s = now_s + step_s if any(taken) else NEVER

    def act(self, now_s: float) -> None:
        for rank in self.ranks:
            through, rank.through = rank.through, []
            for ask in through:
                self._to(ask, rank, now_s)
        self._begin(now_s)


class DecodeUnit:
    """A batch in lockstep and those that wait for it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.running: list[Ask] = []
        self.waiting: list[tuple[Ask, float]] = []
        self.ingress_free_s = 0.0
        self.stepping = False
        self.next_s = NEVER

    @property
    def load(self) -> int:
        return sum(ask.whole for ask in [*self.running, *(ask for ask, _ in self.waiting)])

    def take(self, ask: Ask, ready_s: float) -> None:
        self.waiting.append((ask, ready_s))
        self.waiting.sort(key=lambda one: one[1])
        if not self.stepping:
            self.next_s = self.waiting[0][1]

    def act(self, now_s: float) -> None:
        for ask in self.running if self.stepping else []:
            ask.give(now_s)
        self.running = [ask for ask in self.running if ask.made < ask.output]
        while self.waiting and self.waiting[0][1] <= now_s and self._has_room(self.waiting[0][0]):
            self.running.append(self.waiting.pop(0)[0])
        self.stepping = bool(self.running)
        if self.stepping:
            self.next_s = now_s + self._step_s()
        else:
            self.next_s = self.waiting[0][1] if self.waiting else NEVER

    def _has_room(self, ask: Ask) -> bool:
        pledged = sum(one.whole for one in self.running) + ask.whole
        return pledged <= self._config.kv_capacity_tokens and len(self.running) < self._config.max_running

    def _step_s(self) -> float:
        config, kv = self._config, sum(ask.context for ask in self.running)
        return config.step_s + len(self.running) * config.step_s_per_sequence + kv * config.step_s_per_kv_token


class Fleet:
    """Both roles and what is between them."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.prefills = [PrefillUnit(config, to=self.hand_over) for _ in range(config.prefill_units)]
        self.units = [DecodeUnit(config) for _ in range(config.decode_units)]
        self._routers = Router(config.router), Router(config.router)

    def arrive(self, ask: Ask, now_s: float) -> None:
        if ask.whole > self._config.kv_capacity_tokens:
            ask.refused = True
            return
        # The last token of a prompt is always computed.
        ask.computed = min(ask.cached, ask.input - 1)
        self.prefills[self._routers[0].choose([unit.load for unit in self.prefills])].take(ask, now_s)

    def hand_over(self, ask: Ask, rank: PrefillRank, now_s: float) -> None:
        if ask.output == 0:
            ask.give(now_s)
            return
        config, unit = self._config, self.units[self._routers[1].choose([unit.load for unit in self.units])]
        start_s = max(now_s, rank.egress_free_s, unit.ingress_free_s)
        rank.egress_free_s = start_s + ask.context * config.egress_s_per_token
        unit.ingress_free_s = start_s + ask.context * config.ingress_s_per_token
        unit.take(ask, max(rank.egress_free_s, unit.ingress_free_s) + config.hand_over_s)


def serve(config: Config, asks: Sequence[Ask]) -> Fleet:
    """Follow the requests to their ends."""
    fleet = Fleet(config)
    follow([Source(asks, to=fleet.arrive), *fleet.prefills, *fleet.units])
    return fleet
