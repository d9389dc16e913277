"""One engine: a scheduler with a token budget, a cap and blocks of KV, as it decides from step to step.

Those that run go first, in the order of their admission: one that decodes takes a token, one whose prompt is not
through takes what it still needs or what the budget leaves. Where blocks are missing the one admitted last gives up
all it holds and goes to the head of those that wait; it computes prompt and answer so far again. Only when nobody had
to give up are others let in, in their order, and the first that does not fit holds up the rest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tests.sims.oracle.asks import Ask


@dataclass(frozen=True, slots=True)
class Part:
    """What a request does in a step; ``decodes``: all its KV was there but that of its last token."""

    ask: Ask
    tokens: int
    decodes: bool


@dataclass(slots=True)
class Engine:
    """``blocks`` of ``block_tokens`` each; ``whole_prompt``: a prompt is let in only if all of it would fit."""

    blocks: int
    block_tokens: int
    cap: int
    budget_tokens: int
    whole_prompt: bool
    waiting: deque[Ask] = field(default_factory=deque)
    running: list[Ask] = field(default_factory=list)
    held: dict[Ask, int] = field(default_factory=dict)
    through: set[Ask] = field(default_factory=set)
    """Who has given a token since it was let in."""
    step: list[Part] = field(default_factory=list)
    preemptions: int = 0

    @property
    def free(self) -> int:
        return self.blocks - sum(self.held.values())

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.block_tokens)

    def schedule(self) -> None:
        """Decide what the next step computes."""
        self.step = []
        before = self.preemptions
        for ask in list(self.running):
            take = min(ask.todo, self._left())
            if take > 0 and ask in self.running and self._has_room(ask, take):
                self._take(ask, take)
        if self.preemptions == before:
            self._admit()

    def _left(self) -> int:
        return self.budget_tokens - sum(part.tokens for part in self.step)

    def _has_room(self, ask: Ask, take: int) -> bool:
        """Push out the last admitted until the blocks suffice; False when that reaches the request itself."""
        while self._blocks(ask.computed + take) - self.held[ask] > self.free:
            last = self.running.pop()
            self._forget(last)
            last.computed = 0
            self.waiting.appendleft(last)
            self.preemptions += 1
            if last is ask:
                return False
        return True

    def _take(self, ask: Ask, take: int) -> None:
        self.held[ask] = max(self.held[ask], self._blocks(ask.computed + take))
        self.step.append(Part(ask, take, ask in self.through))

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self.cap and self._left() > 0:
            ask = self.waiting[0]
            take = min(ask.todo, self._left())
            if self._blocks(ask.context if self.whole_prompt else ask.computed + take) > self.free:
                return
            self.running.append(self.waiting.popleft())
            self.held[ask] = 0
            self._take(ask, take)

    def _forget(self, ask: Ask) -> None:
        del self.held[ask]
        self.through.discard(ask)

    def end_step(self, now_s: float) -> list[Ask]:
        """Count what was computed and give the tokens; who is done."""
        done = []
        for part in self.step:
            part.ask.computed += part.tokens
            if part.ask.todo == 0:
                part.ask.give(now_s)
                self.through.add(part.ask)
                if part.ask.is_done:
                    done.append(part.ask)
        for ask in done:
            self.running.remove(ask)
            self._forget(ask)
        return done
