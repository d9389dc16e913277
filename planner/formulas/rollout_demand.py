"""What a step of reinforcement learning asks of generation, and the GPUs that a stated utilisation then needs."""

from __future__ import annotations


def step_tokens(problems: float, *, answers_per_problem: float, mean_tokens: float) -> float:
    """Output tokens of a step.

    Parameters
    ----------
    problems : of a step [1]
    answers_per_problem : [1]
    mean_tokens : of an answer [tokens]

    Returns
    -------
    [tokens]

    Notes
    -----
    problems x answers x mean.

    References
    ----------
    Z. Shao et al., "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models", 2024,
    arXiv:2402.03300, section 4.1 (a group of answers to each problem).

    >>> step_tokens(128, answers_per_problem=16, mean_tokens=8000.0)
    16384000.0
    """
    return problems * answers_per_problem * mean_tokens


def gpus_to_keep_up(tokens: float, *, tokens_per_s_per_gpu: float, utilisation: float, window_s: float) -> float:
    """GPUs that write these tokens while a step is trained, at a stated utilisation.

    Parameters
    ----------
    tokens : of a step [tokens]
    tokens_per_s_per_gpu : rate at a full batch [tokens/s]
    utilisation : share of that rate reached over the window [1]
    window_s : [s]

    Returns
    -------
    a fraction of GPUs counts [1]

    Notes
    -----
    tokens / (rate x utilisation x window). A rule of thumb: utilisation is an input here, and the window is the time
    of training, as if generation and training overlapped.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = lambda W", Operations Research 9(3), 1961 (busy servers are
    work offered over time).

    >>> round(gpus_to_keep_up(16_384_000.0, tokens_per_s_per_gpu=2500.0, utilisation=0.3, window_s=300.0), 4)
    72.8178
    """
    return tokens / (tokens_per_s_per_gpu * utilisation * window_s)
