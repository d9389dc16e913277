"""One random stream per subsystem, so that adding a mechanism does not disturb the others' draws."""

from __future__ import annotations

import zlib

import numpy as np

CHUNK = 65_536
"""Draws are made in chunks; a stream gives the same numbers whatever the chunk."""


def stream(seed: int, *, name: str) -> np.random.Generator:
    """The stream of a subsystem: depends on the seed and the subsystem's name alone."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),))))


def replication_seed(seed: int, *, place: int) -> int:
    """The seed of a replication: of the first the seed itself, of the others one of their own drawn from it.

    It depends on nothing else, so that all designs that are compared meet the same requests in the same replication.
    """
    if place == 0:
        return seed
    drawn = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(b"replication"), place)).generate_state(1, np.uint64)
    return int(drawn[0] >> np.uint64(1))
