"""Replicas that chunk prompts into decode steps: engines behind a router, step by step.

A replica of several ranks has an engine for each, with a share of blocks and places; they step together, as long as
the slowest needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sims.parts.clients import ClosedLoop
from sims.systems.llm_serving import Config, UnitClass
from tests.sims.oracle.asks import Ask
from tests.sims.oracle.course import NEVER, Router, follow, source_of
from tests.sims.oracle.engine import Engine
from tests.sims.oracle.step_times import burdens, decode_s, kv_token_s, prompts_s, table_s


def engine_of(traits: UnitClass) -> Engine:
    """The engine of one rank."""
    ranks = traits.prefill_ranks
    return Engine(
        blocks=traits.kv_capacity_tokens // ranks // traits.block_tokens,
        block_tokens=traits.block_tokens,
        cap=traits.max_running,
        budget_tokens=traits.prefill_budget_tokens,
        whole_prompt=traits.reserve_full_prompt,
    )


def pledged(engine: Engine) -> int:
    """Prompts and full answers of all that run or wait there [tokens]."""
    return sum(ask.whole for ask in [*engine.running, *engine.waiting])


class Replica:
    """Engines in lockstep."""

    def __init__(self, traits: UnitClass, *, done: Callable[[Ask, float], None]) -> None:
        self.traits = traits
        self._done = done
        self.engines = [engine_of(traits) for _ in range(traits.prefill_ranks)]
        self.next_s = NEVER

    @property
    def load(self) -> int:
        return sum(pledged(engine) for engine in self.engines)

    def take(self, ask: Ask, now_s: float) -> None:
        """Queue at the engine with the fewest tokens pledged; one at rest wakes once all of this moment are there."""
        min(self.engines, key=pledged).waiting.append(ask)
        if self.next_s == NEVER:
            self.next_s = now_s

    def act(self, now_s: float) -> None:
        for engine in self.engines:
            for ask in engine.end_step(now_s):
                self._done(ask, now_s)
        self._begin(now_s)

    def _begin(self, now_s: float) -> None:
        for engine in self.engines:
            engine.schedule()
        works = any(engine.step for engine in self.engines)
        self.next_s = now_s + max(self._step_s(engine) for engine in self.engines) if works else NEVER

    def _step_s(self, engine: Engine) -> float:
        traits, ranks = self.traits, len(self.engines)
        decoding = [part.ask for part in engine.step if part.decodes]
        kv_tokens = sum(ask.context for ask in decoding)
        own, mean = self._weighed(engine), sum(self._weighed(one) for one in self.engines) / ranks
        return (
            traits.step_s
            + table_s(traits, (1 - traits.pooled_share) * own + traits.pooled_share * mean)
            + decode_s(traits, sequences=ranks * len(decoding), kv_tokens=ranks * kv_tokens)
            + prompts_s(traits, [(part.tokens, part.ask.computed) for part in engine.step if not part.decodes])
        )

    def _weighed(self, engine: Engine) -> float:
        """Tokens of a step as the table counts them."""
        return sum(1 if part.decodes else part.tokens * self.traits.prompt_token_weight for part in engine.step)


class Fleet:
    """Replicas and the router before them."""

    def __init__(self, config: Config) -> None:
        self.replicas = [Replica(traits, done=self._finish) for traits in config.decoders for _ in range(traits.count)]
        self._router = Router(config.router)
        self.answered: Callable[[float], None] = lambda _: None

    def arrive(self, ask: Ask, now_s: float) -> None:
        smallest = min(engine.blocks * engine.block_tokens for one in self.replicas for engine in one.engines)
        if ask.whole > smallest:
            ask.refused = True
            return
        # The last token of a prompt is always computed.
        ask.computed = min(ask.cached, ask.input - 1)
        loads = burdens([(one.load, one.traits) for one in self.replicas], of=kv_token_s, kv=True)
        self.replicas[self._router.choose(loads)].take(ask, now_s)

    @property
    def preemptions(self) -> int:
        return sum(engine.preemptions for one in self.replicas for engine in one.engines)

    def _finish(self, _: Ask, now_s: float) -> None:
        self.answered(now_s)


def serve(config: Config, asks: Sequence[Ask], *, loop: ClosedLoop | None = None) -> Fleet:
    """Follow the requests to their ends; from clients in a closed loop, or as they come."""
    fleet = Fleet(config)
    source = source_of(asks, to=fleet.arrive, loop=loop, gateway_s=config.gateway_s)
    fleet.answered = source.answered
    follow([source, *fleet.replicas])
    return fleet
