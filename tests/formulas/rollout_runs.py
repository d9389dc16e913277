"""Training by steps with generation on other GPUs, event by event: what the closed forms of the modes are held against.

An instance gives each of its running answers a token every a + b B seconds; the trainer takes N answers in whole
groups, in the order in which groups end, and works for a fixed time; groups start while fewer than
(version + eta + 1) N answers have started.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from planner.formulas.answer_lengths import AnswerLengths
from planner.formulas.decode_step import DecodeStep


@dataclass
class Instance:
    """Running answers by the count of tokens at which each ends; all gain tokens alike."""

    step: DecodeStep
    written: float = 0.0
    since_s: float = 0.0
    ends: list[tuple[float, int]] = field(default_factory=list)

    def advance(self, now_s: float) -> float:
        """Tokens put out until now."""
        gained = (now_s - self.since_s) / self.step.at(len(self.ends)) if self.ends else 0.0
        self.written += gained
        self.since_s = now_s
        return gained * len(self.ends)

    def next_s(self) -> float:
        if not self.ends:
            return float("inf")
        return self.since_s + max(self.ends[0][0] - self.written, 0.0) * self.step.at(len(self.ends))


@dataclass
class Rollout:
    step: DecodeStep
    law: AnswerLengths
    instances: int
    slots: int
    groups: int
    train_s: float
    bound: float
    pause_s: float = 0.0
    group: int = 16
    drop_older: bool = False
    age_from_slot: bool = False
    """Groups count as started when their last answer gets a slot, not when they are let in."""
    seed: int = 1

    def run(self, *, versions: int, warm: int) -> dict[str, float]:
        """Means over the versions after the warm ones."""
        random = np.random.default_rng(self.seed)
        self.fleet = [Instance(self.step) for _ in range(self.instances)]
        self.waiting: deque[tuple[int, float]] = deque()
        self.left: dict[int, int] = {}
        self.born: dict[int, int] = {}
        self.done: deque[int] = deque()
        started = dropped = version = 0
        tokens, now, training_until = 0.0, 0.0, float("inf")
        marks: list[float] = []
        ages: list[int] = []
        lost = 0
        mark_tokens = 0.0
        while version < versions + warm:
            while started - dropped < (version + self.bound + 1) * self.groups - 1e-9:
                drawn = self.law.quantile(random.random(self.group))
                self.born[started], self.left[started] = version, self.group
                self.waiting.extend((started, float(each)) for each in drawn)
                started += 1
            tokens += self.place(now, version=version)
            while training_until == float("inf") and len(self.done) >= self.groups:
                taken = [self.done.popleft() for _ in range(self.groups)]
                stale = [each for each in taken if version - self.born[each] > self.bound] if self.drop_older else []
                if stale:
                    gone = set(stale)
                    self.done.extendleft(reversed([each for each in taken if each not in gone]))
                    dropped += len(stale)
                    lost += len(stale) if version >= warm else 0
                    break
                if version >= warm:
                    ages.extend(version - self.born[each] for each in taken)
                training_until = now + self.train_s
            else:
                stale = []
            if stale:
                continue
            times = [each.next_s() for each in self.fleet]
            soonest = min(times)
            if training_until <= soonest:
                for each in self.fleet:
                    tokens += each.advance(training_until)
                    each.since_s = training_until + self.pause_s
                now, training_until, version = training_until + self.pause_s, float("inf"), version + 1
                if version == warm:
                    mark_tokens = tokens
                marks.append(now)
                continue
            now = soonest
            self.finish(times.index(soonest), now)
            tokens += self.moved
        span = marks[-1] - marks[warm - 1]
        counted = np.array(ages)
        return {
            "step_s": span / versions,
            "tokens_per_s": (tokens - mark_tokens) / span,
            "age": float(counted.mean()),
            "older": float((counted > self.bound).mean()),
            "lost": lost / (lost + len(ages)),
            **{f"age_{k}": float((counted == k).mean()) for k in range(8)},
        }

    def place(self, now: float, *, version: int) -> float:
        moved = 0.0
        while self.waiting:
            chosen = min(self.fleet, key=lambda each: len(each.ends))
            if len(chosen.ends) >= self.slots:
                break
            group, length = self.waiting.popleft()
            if self.age_from_slot:
                self.born[group] = version
            if now > chosen.since_s:
                moved += chosen.advance(now)
            heapq.heappush(chosen.ends, (chosen.written + length, group))
        return moved

    def finish(self, number: int, now: float) -> None:
        instance = self.fleet[number]
        self.moved = instance.advance(now)
        while instance.ends and instance.ends[0][0] <= instance.written + 1e-6:
            _, group = heapq.heappop(instance.ends)
            self.left[group] -= 1
            if not self.left[group]:
                self.done.append(group)
