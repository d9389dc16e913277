"""One replica with adapters, written down plainly: a step at a time, a list of requests in order of arrival.

The scheduler walks the waiting requests as an engine does. Of those that end with the same step the one that joined
last leaves first, which only matters for whose adapter is the older at rest.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sims.systems.multi_lora import Config


@dataclass(slots=True)
class Ask:
    at_s: float
    adapter: int
    todo: int
    input: int
    output: int
    made: int = 0
    take: int = 0
    admitted_s: float = 0.0
    first_s: float = 0.0
    finish_s: float = 0.0


@dataclass(slots=True)
class Replica:
    config: Config
    tenant_of: np.ndarray
    events: list[tuple[float, int, str, Any]] = field(default_factory=list)
    waiting: list[Ask] = field(default_factory=list)
    filling: list[Ask] = field(default_factory=list)
    running: list[Ask] = field(default_factory=list)
    slots: dict[int, float] = field(default_factory=dict)
    """When each adapter's copy ends."""
    claimed: set[int] = field(default_factory=set)
    resting: OrderedDict[int, None] = field(default_factory=OrderedDict)
    host: set[int] = field(default_factory=set)
    unasked: OrderedDict[int, None] = field(default_factory=OrderedDict)
    wanted: list[int] = field(default_factory=list)
    fetching: set[int] = field(default_factory=set)
    link_free_s: float = 0.0
    stall_s: float = 0.0
    stepping: bool = False
    counters: dict[int, float] = field(default_factory=dict)
    left: int | None = None
    order: int = 0

    def later(self, at_s: float, what: str, value: Any = None) -> None:
        self.order += 1
        heapq.heappush(self.events, (at_s, self.order, what, value))

    def run(self, asks: list[Ask]) -> None:
        for ask in asks:
            self.later(ask.at_s, "arrival", ask)
        while self.events:
            now_s, _, what, value = heapq.heappop(self.events)
            getattr(self, what)(now_s, value)
            self.fetch(now_s)
            if not self.stepping:
                self.schedule(now_s)
                self.begin_step(now_s)

    def arrival(self, _now_s: float, ask: Ask) -> None:
        tenant = int(self.tenant_of[ask.adapter])
        inside = {int(self.tenant_of[one.adapter]) for one in self.waiting}
        if tenant not in inside:
            floor = min((self.counters[one] for one in inside), default=self.counters.get(self.left, 0.0))
            self.counters[tenant] = max(self.counters.get(tenant, 0.0), floor)
        self.waiting.append(ask)
        self.unasked.pop(ask.adapter, None)
        if ask.adapter not in self.host | self.fetching and ask.adapter not in self.wanted:
            self.wanted.append(ask.adapter)

    def fetch(self, now_s: float) -> None:
        while self.wanted and len(self.fetching) < self.config.store_downloads:
            if len(self.host) + len(self.fetching) >= self.config.host_adapters:
                if not self.unasked:
                    return
                oldest, _ = self.unasked.popitem(last=False)
                self.host.discard(oldest)
                self.slots.pop(oldest, None)
                self.resting.pop(oldest, None)
            adapter = self.wanted.pop(0)
            self.fetching.add(adapter)
            took_s = self.config.store_first_byte_s + self.config.adapter_bytes / self.config.store_bytes_per_s
            self.later(now_s + took_s, "fetched", adapter)

    def fetched(self, _now_s: float, adapter: int) -> None:
        self.fetching.discard(adapter)
        self.host.add(adapter)

    def copied(self, _now_s: float, adapter: int) -> None:
        self.slots[adapter] = -math.inf

    def rank(self, ask: Ask) -> tuple[float, float]:
        fair = self.config.scheduler == "fair"
        return (self.counters[int(self.tenant_of[ask.adapter])] if fair else 0.0, ask.at_s)

    def next(self) -> tuple[str, Ask] | None:
        busy = len(self.running) + len(self.filling)
        room = busy + len(self.claimed) < self.config.max_running
        for ask in sorted(self.waiting, key=self.rank) if busy < self.config.max_running else []:
            held = ask.adapter in self.slots
            if ask.adapter not in self.host or (held and self.slots[ask.adapter] != -math.inf):
                continue
            if held and (room or ask.adapter in self.claimed):
                return "start", ask
            if not held and room and (len(self.slots) < self.config.slots or self.resting):
                return "grant", ask
        return None

    def schedule(self, now_s: float) -> None:
        while (found := self.next()) is not None:
            what, ask = found
            inside = self.running + self.filling
            pledged = sum(one.input + one.output for one in inside) + len(self.slots) * self.config.adapter_tokens
            room = self.config.kv_capacity_tokens - pledged - ask.input - ask.output
            if what == "grant":
                if self.config.adapter_tokens and (inside or self.claimed) and room < self.config.adapter_tokens:
                    return
                self.grant(ask.adapter, now_s)
                continue
            if inside and room < 0:
                return
            self.start(ask, now_s)

    def grant(self, adapter: int, now_s: float) -> None:
        if len(self.slots) >= self.config.slots:
            del self.slots[self.resting.popitem(last=False)[0]]
        self.claimed.add(adapter)
        self.slots[adapter] = -math.inf
        copy_s = self.config.swap_fixed_s + self.config.adapter_bytes / self.config.swap_bytes_per_s
        if self.config.swap == "stalls":
            self.stall_s += copy_s
            return
        self.link_free_s = max(now_s, self.link_free_s) + copy_s
        if self.config.swap == "beside":
            self.slots[adapter] = self.link_free_s
            self.later(self.link_free_s, "copied", adapter)
        else:
            self.ready[adapter] = self.link_free_s

    def start(self, ask: Ask, now_s: float) -> None:
        tenant = int(self.tenant_of[ask.adapter])
        self.waiting.remove(ask)
        if all(int(self.tenant_of[one.adapter]) != tenant for one in self.waiting):
            self.left = tenant
        self.counters[tenant] += self.config.input_weight * ask.input
        self.claimed.discard(ask.adapter)
        self.resting.pop(ask.adapter, None)
        self.filling.append(ask)
        ask.admitted_s = now_s

    def begin_step(self, now_s: float) -> None:
        config, alone = self.config, self.config.prefill == "first"
        if not self.filling and not self.running:
            return
        left = max(1, config.prefill_budget_tokens - (0 if alone else len(self.running)))
        whole = left
        for ask in self.filling:
            ask.take = min(ask.todo, left)
            left -= ask.take
        decodes = not (alone and self.filling)
        users = {ask.adapter for ask in self.running + self.filling}
        step_s = self.stall_s + config.lora_step_s
        step_s += max(len(users) * config.lora_s_per_adapter, len(self.running) * config.lora_s_per_sequence)
        if decodes:
            kv = sum(ask.input + ask.made for ask in self.running)
            step_s += config.step_s + len(self.running) * config.step_s_per_sequence + kv * config.step_s_per_kv_token
        if self.filling:
            step_s += config.prefill_step_s + (whole - left) * config.prefill_s_per_token
        late_s = max((self.ready.get(ask.adapter, 0.0) for ask in self.filling if ask.take), default=0.0)
        ends_s = now_s + step_s
        if config.swap == "pipelined" and late_s > now_s:
            ends_s = max(ends_s, late_s + config.swap_layer_s)
        self.stall_s, self.stepping = 0.0, True
        self.later(ends_s, "stepped", decodes)

    ready: dict[int, float] = field(default_factory=dict)

    def stepped(self, now_s: float, decodes: bool) -> None:
        self.stepping = False
        if decodes:
            for ask in self.running:
                self.give(ask)
            for ask in [one for one in reversed(self.running) if one.made >= one.output]:
                self.running.remove(ask)
                self.leave(ask, now_s)
        for ask in self.filling:
            ask.todo -= ask.take
            ask.take = 0
        for ask in [one for one in self.filling if one.todo == 0]:
            self.filling.remove(ask)
            ask.first_s = now_s
            self.give(ask)
            if ask.made >= ask.output:
                self.leave(ask, now_s)
            else:
                self.running.append(ask)

    def give(self, ask: Ask) -> None:
        ask.made += 1
        self.counters[int(self.tenant_of[ask.adapter])] += self.config.output_weight

    def leave(self, ask: Ask, now_s: float) -> None:
        ask.finish_s = now_s
        if all(one.adapter != ask.adapter for one in self.running + self.filling):
            self.resting[ask.adapter] = None
            if all(one.adapter != ask.adapter for one in self.waiting):
                self.unasked[ask.adapter] = None
            if self.config.adapter_tokens:
                del self.slots[ask.adapter], self.resting[ask.adapter]
