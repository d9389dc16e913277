"""One server of a unit of GPUs, in words that no engine owns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from planner.core import llm_names
from planner.core.catalog import Gpu, Llm
from planner.core.launch import Asked, Shell

Role = Literal["", "prefill", "decode"]
HTTP_PORT = 8000
RENDEZVOUS_PORT = 20000
SIDE_CHANNEL_PORT = 5600
BOOTSTRAP_PORT = 8998
ANYWHERE = "0.0.0.0"  # noqa: S104 - the server is to be reached from outside its container


@dataclass(frozen=True, slots=True)
class Server:
    """An engine on ``gpus`` GPUs: ``copies`` of attention, each over ``ranks`` GPUs, in ``stages``; ``units`` of it.

    ``asked`` holds the rest in the planner's names; an engine's module turns what is said differently there.
    """

    engine: str
    name: str
    """Of the objects that run it."""
    title: str
    llm: Llm
    model: Asked
    gpu: Gpu
    gpus: int
    gpus_per_node: int
    ranks: Asked
    copies: Asked
    stages: Asked
    units: Asked
    asked: tuple[Asked, ...] = ()
    role: Role = ""
    version: str = ""

    @property
    def nodes(self) -> int:
        return -(-self.gpus // self.gpus_per_node)

    @property
    def gpus_of_a_node(self) -> int:
        return min(self.gpus, self.gpus_per_node)

    @property
    def family(self) -> str:
        """The name without the role: that of all pools together."""
        return self.name.removesuffix(f"-{self.role}") if self.role else self.name

    def asks(self, name: str) -> Asked | None:
        """What is asked under a name."""
        return next((each for each in self.asked if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Place:
    """How a node of several knows its place: words that the shell fills in."""

    leader: str = "$LEADER"
    rank: str = "$NODE_RANK"

    @property
    def leader_word(self) -> Shell:
        return Shell(self.leader)

    @property
    def rank_word(self) -> Shell:
        return Shell(self.rank)

    def leader_at(self, port: int) -> Shell:
        return Shell(f"{self.leader}:{port}")

    def rank_times(self, count: int) -> Shell:
        """The rank times a number, worked out by the shell."""
        return Shell(f"$(({self.rank.lstrip('$')} * {count}))")


IN_SHELL = Place()
IN_GROUP = Place(leader="$LWS_LEADER_ADDRESS", rank="$LWS_WORKER_INDEX")
"""What a LeaderWorkerSet puts into the environment of its pods."""

Way = Callable[[Server, Asked], Iterator[Asked]]


def translated(server: Server, *, ways: Mapping[str, Way]) -> Iterator[Asked]:
    """What is asked, with an engine's own way of saying it where it has one."""
    for each in server.asked:
        yield from ways[each.name](server, each) if each.name in ways else iter((each,))


def same(asked: Asked, name: str, value: object, *, why: str = "", needed: bool | None = None) -> Asked:
    """Another setting that follows from the same input or figure."""
    return replace(
        asked, name=name, value=value, why=why or asked.why, needed=asked.needed if needed is None else needed
    )


def model_asked(llm: Llm, written: str, *, field: str) -> Asked:
    """The checkpoint: the name as written where it is one of a repository, else the LLM's own."""
    name = written if "/" in written else llm.hf_id or written
    return Asked("model", name, "the checkpoint of the LLM", field=field)


def stored_format(server: Server) -> str:
    """The number format of the checkpoint that is named."""
    named = llm_names.number_format(str(server.model.value))
    if named is None or str(server.model.value) == server.llm.hf_id:
        return server.llm.native_dtype
    return "nvfp4" if named == "fp4" else named


def object_name(text: str) -> str:
    """A name that Kubernetes takes: small letters, digits and dashes, at most 50."""
    found = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-")
    return found or "design"
