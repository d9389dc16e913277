"""A second implementation, one token at a time, in plain Python: instances step, a gate, a buffer, a trainer."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sims.systems.rl_rollout import Config, Problems

TRAINER, INSTANCE = 0, 1


@dataclass(slots=True)
class Answer:
    length: int
    prompt: int
    group: int
    done: int = 0
    version: int = -1
    made_by: list[int] = field(default_factory=list)
    """The version whose weights made each token."""


@dataclass(slots=True)
class Instance:
    running: list[Answer] = field(default_factory=list)
    waiting: list[Answer] = field(default_factory=list)
    version: int = 0
    stepping: bool = False
    pausing: bool = False
    swap: bool = False

    @property
    def load(self) -> int:
        return len(self.running) + len(self.waiting)


@dataclass(slots=True)
class Seen:
    ends_s: list[float] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    token_ages: list[int] = field(default_factory=list)


def stream_of(problems: Problems, config: Config, *, seed: int) -> Iterator[list[Answer]]:
    """Groups of answers, from the same draws."""
    chunks = problems.chunks(seed, groups=1, answers=config.answers, score_mean_s=0.0, score_cv=0.0)
    for number, chunk in enumerate(chunks):
        yield [Answer(int(one.length), int(one.prompt), number) for one in chunk]


class ByToken:
    """Synchronous (``gate`` of one batch) or asynchronous generation with least-loaded placing and kept KV."""

    def __init__(self, config: Config, problems: Problems, *, seed: int) -> None:
        self.config, self.groups = config, stream_of(problems, config, seed=seed)
        self.instances = [Instance() for _ in range(config.instances)]
        self.events: list[tuple[float, int, int]] = []
        self.to_place: list[Answer] = []
        self.missing: dict[int, list[Answer]] = {}
        self.buffer: list[list[Answer]] = []
        self.opened = self.version = 0
        self.training = False
        self.seen = Seen()

    def run(self, steps: int) -> Seen:
        self.place(0.0)
        while self.version < steps:
            now_s, kind, i = heapq.heappop(self.events)
            if kind == TRAINER:
                self.trained(now_s, i)
            else:
                self.boundary(now_s, i)
            self.place(now_s)
        return self.seen

    def step_s(self, one: Instance) -> float:
        count = len(one.running)
        reads = sum(answer.prompt + answer.done + 0.5 for answer in one.running)
        config = self.config
        return config.step_s + config.step_s_per_sequence * count + config.step_s_per_kv_token * reads

    def place(self, now_s: float) -> None:
        quota = (self.version + self.config.bound + 1) * self.config.problems
        while True:
            if not self.to_place:
                if self.opened >= quota:
                    break
                self.to_place = next(self.groups)
                self.missing[self.to_place[0].group] = []
                self.opened += 1
            room = [one for one in self.instances if one.load < self.config.slots]
            if not room:
                break
            min(room, key=lambda one: one.load).waiting.append(self.to_place.pop(0))
        for i, one in enumerate(self.instances):
            if not one.stepping and not one.pausing:
                self.go_on(now_s, i)

    def go_on(self, now_s: float, i: int) -> None:
        one = self.instances[i]
        if one.swap:
            one.swap, one.pausing = False, True
            heapq.heappush(self.events, (now_s + self.config.pause_s, INSTANCE, i))
            return
        for answer in one.waiting:
            answer.version = one.version
        one.running += one.waiting
        one.waiting = []
        if one.running:
            one.stepping = True
            heapq.heappush(self.events, (now_s + self.step_s(one), INSTANCE, i))

    def boundary(self, now_s: float, i: int) -> None:
        one = self.instances[i]
        if one.pausing:
            one.pausing, one.version = False, self.version
            return
        one.stepping = False
        for answer in one.running:
            answer.done += 1
            answer.made_by.append(one.version)
        for answer in [answer for answer in one.running if answer.done == answer.length]:
            one.running.remove(answer)
            self.missing[answer.group].append(answer)
            if len(self.missing[answer.group]) == self.config.answers:
                self.buffer.append(self.missing.pop(answer.group))
        self.train(now_s)

    def train(self, now_s: float) -> None:
        if self.training or len(self.buffer) < self.config.problems:
            return
        batch, self.buffer = self.buffer[: self.config.problems], self.buffer[self.config.problems :]
        self.seen.ages += [self.version - answer.version for group in batch for answer in group]
        self.seen.token_ages += [
            self.version - version for group in batch for answer in group for version in answer.made_by
        ]
        self.training = True
        heapq.heappush(self.events, (now_s + self.config.train_s, TRAINER, 1))

    def trained(self, now_s: float, trains: int) -> None:
        if trains:
            self.version += 1
            self.seen.ends_s.append(now_s)
            heapq.heappush(self.events, (now_s + self.config.pause_s, TRAINER, 0))
            for one in self.instances:
                one.swap = True
            return
        self.training = False
        self.train(now_s)


def histogram(ages: list[int]) -> np.ndarray:
    return np.bincount(ages, minlength=64)
