"""Prefill units, a network and decode units, a step at a time, everything in plain lists.

A prompt goes to a prefill unit and there to the rank with the fewest tokens queued. The ranks of a unit step
together: each takes prompts in order up to its budget, and the step is as long as the fullest rank needs. The KV of
a prompt that is through leaves over the rank's own network to the decode unit with the least pledged, and there to
the rank with the least to do; a transfer waits until both ends are free. At the end of a step each rank of a decode
unit admits what has come, in the order of coming, while its reservations (prompt and full answer) fit, or what is there
now; the first that does not holds up the rest. In the latter case ranks may run full: the last admitted goes back to
prefill. The step of a unit is as long as its slowest rank needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sims.parts.clients import ClosedLoop
from sims.systems.llm_serving import Config, UnitClass
from tests.sims.oracle.asks import Ask
from tests.sims.oracle.course import NEVER, Router, follow, source_of
from tests.sims.oracle.step_times import burdens, decode_s, kv_token_s, prompt_token_s, prompts_s, table_s


class PrefillRank:
    """A queue with a token budget a step and a network of its own."""

    def __init__(self) -> None:
        self.queue: list[Ask] = []
        self.through: list[Ask] = []
        self.egress_free_s = 0.0
        self.step_s = 0.0
        """Of the step that has just ended."""

    @property
    def load(self) -> int:
        return sum(ask.todo for ask in self.queue)

    def fill(self, budget_tokens: int) -> list[tuple[int, int]]:
        """Take what the next step computes: chunks of so many tokens after so many."""
        chunks: list[tuple[int, int]] = []
        left = budget_tokens
        while self.queue and left > 0:
            ask = self.queue[0]
            take = min(ask.todo, left)
            chunks.append((take, ask.computed))
            ask.computed += take
            left -= take
            if ask.todo == 0:
                self.through.append(self.queue.pop(0))
        return chunks


class PrefillUnit:
    """Ranks in lockstep."""

    def __init__(self, traits: UnitClass, *, to: Callable[[Ask, PrefillRank, float], None]) -> None:
        self.traits = traits
        self._to = to
        self.ranks = [PrefillRank() for _ in range(traits.prefill_ranks)]
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
        taken = [rank.fill(self.traits.prefill_budget_tokens) for rank in self.ranks]
        self._under_way = sum(tokens for chunks in taken for tokens, _ in chunks)
        step_s = max(prompts_s(self.traits, chunks) for chunks in taken)
        for rank in self.ranks:
            rank.step_s = step_s
        self.next_s = now_s + step_s if any(taken) else NEVER

    def act(self, now_s: float) -> None:
        for rank in self.ranks:
            through, rank.through = rank.through, []
            for ask in through:
                self._to(ask, rank, now_s)
        self._begin(now_s)


class DecodeRank:
    """A share of a unit's KV, with a network of its own."""

    def __init__(self) -> None:
        self.running: list[Ask] = []
        self.coming: list[tuple[Ask, float]] = []
        self.ingress_free_s = 0.0

    @property
    def kv(self) -> int:
        return sum(ask.context for ask in self.running)


class DecodeUnit:
    """Ranks in lockstep and those that wait for them; the fullest rank sets the time of a step."""

    def __init__(
        self, traits: UnitClass, *, config: Config, back: Callable[[Ask, float], None], done: Callable[[float], None]
    ) -> None:
        self.traits = traits
        self._config = config
        self._back = back
        self._done = done
        self.ranks = [DecodeRank() for _ in range(traits.decode_ranks)]
        self.stepping = False
        self.next_s = NEVER

    @property
    def load(self) -> int:
        held = [ask for rank in self.ranks for ask in rank.running]
        return sum(ask.whole for ask in [*held, *(ask for ask, _ in self._coming())])

    def _coming(self) -> list[tuple[Ask, float]]:
        return [one for rank in self.ranks for one in rank.coming]

    def least_rank(self) -> DecodeRank:
        """By work in a step, counted in tokens: a sequence for as many as it takes the time of."""
        a, c = self.traits.step_s_per_sequence, self.traits.step_s_per_kv_token
        return min(self.ranks, key=lambda rank: self._work(rank, *((round(a / c), 1) if c else (1, 0))))

    @staticmethod
    def _work(rank: DecodeRank, sequence: int, token: int) -> int:
        asks = [*rank.running, *(ask for ask, _ in rank.coming)]
        return sequence * len(asks) + token * sum(ask.context for ask in asks)

    def take(self, ask: Ask, rank: DecodeRank, ready_s: float) -> None:
        rank.coming.append((ask, ready_s))
        rank.coming.sort(key=lambda one: one[1])
        if not self.stepping:
            self.next_s = min(ready_s for _, ready_s in self._coming())

    def act(self, now_s: float) -> None:
        for rank in self.ranks:
            for ask in rank.running if self.stepping else []:
                ask.give(now_s)
                if ask.is_done:
                    self._done(now_s)
            rank.running = [ask for ask in rank.running if ask.made < ask.output]
        for rank in self.ranks if self._config.kv_admission == "retract" else []:
            while len(rank.running) > 1 and rank.kv + len(rank.running) > self._capacity:
                self._send_back(rank.running.pop(), now_s)
        for rank in self.ranks:
            while rank.coming and rank.coming[0][1] <= now_s and self._has_room(rank, rank.coming[0][0]):
                rank.running.append(rank.coming.pop(0)[0])
        self.stepping = any(rank.running for rank in self.ranks)
        if self.stepping:
            self.next_s = now_s + self._step_s()
        else:
            self.next_s = min((ready_s for _, ready_s in self._coming()), default=NEVER)

    @property
    def _capacity(self) -> int:
        return self.traits.kv_capacity_tokens // len(self.ranks)

    def _send_back(self, ask: Ask, now_s: float) -> None:
        """Nothing of it is held any more."""
        ask.computed = 0
        self._back(ask, now_s)

    def _has_room(self, rank: DecodeRank, ask: Ask) -> bool:
        running = len(rank.running)
        if running >= max(1, self.traits.max_running // len(self.ranks)):
            return False
        if self._config.kv_admission == "reserve":
            return sum(one.whole for one in rank.running) + ask.whole <= self._capacity
        air = (running + 1) * self._config.kv_headroom_tokens
        return running == 0 or rank.kv + ask.context + air <= self._capacity

    def _step_s(self) -> float:
        traits, ranks = self.traits, len(self.ranks)
        sequences = sum(len(rank.running) for rank in self.ranks)
        return (
            traits.step_s
            + table_s(traits, sequences)
            + max(
                decode_s(traits, sequences=ranks * len(rank.running), kv_tokens=ranks * rank.kv) for rank in self.ranks
            )
        )


def each(classes: Sequence[UnitClass]) -> list[UnitClass]:
    """The traits of every unit, in order."""
    return [one for one in classes for _ in range(one.count)]


class Fleet:
    """Both roles and what is between them."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.prefills = [PrefillUnit(one, to=self.hand_over) for one in each(config.prefillers)]
        self.units = [
            DecodeUnit(one, config=config, back=self.fill, done=self._finish) for one in each(config.decoders)
        ]
        self._routers = Router(config.router), Router(config.router)
        self.answered: Callable[[float], None] = lambda _: None

    def _finish(self, now_s: float) -> None:
        self.answered(now_s)

    def arrive(self, ask: Ask, now_s: float) -> None:
        if ask.whole > min(one.kv_capacity_tokens // one.decode_ranks for one in self._config.decoders):
            ask.refused = True
            return
        # The last token of a prompt is always computed.
        ask.computed = min(ask.cached, ask.input - 1)
        self.fill(ask, now_s)

    def fill(self, ask: Ask, now_s: float) -> None:
        """To a prefill unit, for all of it that is not computed."""
        loads = burdens([(unit.load, unit.traits) for unit in self.prefills], of=prompt_token_s, kv=False)
        self.prefills[self._routers[0].choose(loads)].take(ask, now_s)

    def hand_over(self, ask: Ask, rank: PrefillRank, now_s: float) -> None:
        if ask.output == 0:
            ask.give(now_s)
            self._finish(now_s)
            return
        config, loads = self._config, [(unit.load, unit.traits) for unit in self.units]
        unit = self.units[self._routers[1].choose(burdens(loads, of=kv_token_s, kv=True))]
        to = unit.least_rank()
        egress_s, ingress_s = ask.context * config.egress_s_per_token, ask.context * config.ingress_s_per_token
        # Some of it goes while the last step of the prompt is computed, as far as that lasts.
        begin_s = now_s - min(rank.step_s, config.overlap_share * max(egress_s, ingress_s))
        start_s = max(begin_s, rank.egress_free_s, to.ingress_free_s)
        rank.egress_free_s, to.ingress_free_s = start_s + egress_s, start_s + ingress_s
        unit.take(ask, to, max(now_s, rank.egress_free_s, to.ingress_free_s) + config.hand_over_s)


def serve(config: Config, asks: Sequence[Ask], *, loop: ClosedLoop | None = None) -> Fleet:
    """Follow the requests to their ends; from clients in a closed loop, or as they come."""
    fleet = Fleet(config)
    source = source_of(asks, to=fleet.arrive, loop=loop, gateway_s=config.gateway_s)
    fleet.answered = source.answered
    follow([source, *fleet.prefills, *fleet.units])
    return fleet
