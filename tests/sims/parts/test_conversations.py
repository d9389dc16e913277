"""Conversations: how prompts grow, and what of an answer comes back."""

from __future__ import annotations

import numpy as np
import pytest

from sims.parts.conversations import Conversations


def talks(answers_back: float) -> Conversations:
    return Conversations(
        100.0, duration_s=200.0, groups=0, live_sessions=50, turns=3.0, first_tokens=100.0, message_tokens=40.0,
        output_tokens=200.0, input_sigma=0.0, output_sigma=0.0, answers_back=answers_back,
    )  # fmt: skip


@pytest.mark.parametrize("answers_back", [1.0, 0.5, 0.0])
def test_prompts_grow_by_a_message_and_what_comes_back_of_the_answer(answers_back: float) -> None:
    """A turn has two before it on average (geometric, mean 3): 100 + 2 (40 + a 200) tokens."""
    chunks = list(talks(answers_back).chunks(1, block_tokens=16))
    tokens = np.concatenate([chunk.tokens for chunk in chunks])[2000:]
    assert tokens.mean() == pytest.approx(100 + 2 * (40 + 200 * answers_back), rel=0.04)


@pytest.mark.parametrize(("answers_back", "kept"), [(1.0, 200), (0.5, 100), (0.0, 0)])
def test_what_comes_back_is_kept_in_whole_blocks(answers_back: float, kept: int) -> None:
    chunk = next(iter(talks(answers_back).chunks(1, block_tokens=16)))
    assert (chunk.kept == (chunk.tokens + kept) // 16).all()
