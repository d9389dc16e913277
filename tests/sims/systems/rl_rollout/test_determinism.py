from __future__ import annotations

from time import process_time

import pytest

from sims.engine import kernel, run
from sims.engine.hooks import Cancelled, NoHooks
from sims.systems.rl_rollout import MODES, PLACINGS, Failure, Lengths, Measured, Problems, Scoring, simulate
from sims.systems.rl_rollout.loop import advance
from sims.systems.rl_rollout.orders import obey
from tests.sims.impatient import Impatient, ticks
from tests.sims.systems.rl_rollout.scene import LONG_TAIL, config, fingerprint, problems, reference
from tests.sims.without_jit import printed


def small(mode: str = "asynchronous", *, placing: str = "least_loaded", steps: int = 6, **options: object) -> str:
    """A run with everything that a mode allows."""
    alone = mode != "asynchronous"
    setup = config(
        mode=mode,
        placing=placing,
        staleness=2,
        enforcement="discard" if mode == "asynchronous" else "carry",
        swap="recompute",
        pause_s=0.4,
        transfer_s=0.7,
        switch_s=1.5,
        step_s_per_kv_token=1e-4,
        kv_tokens=250.0,
        prefill_tokens_per_s=400.0,
        oversample=0.5 if alone else 0.0,
        filtering=True,
        scoring=Scoring(servers=3, mean_s=2.0, cv=1.0, timeout_s=5.0, on_timeout="drop"),
    )
    load = problems(prompt_tokens=20.0, prompt_cv=0.5, correlation=0.4, cap_tokens=100, chance_a=2.0, chance_b=2.0)
    failures = [Failure(0, at_s=9.0, rejoin_s=12.0)]
    return fingerprint(simulate(setup, problems=load, steps=steps, warmup_steps=1, failures=failures, **options))


@pytest.mark.parametrize("mode", MODES)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(mode: str) -> None:
    assert small(mode, seed=5) == small(mode, seed=5)
    assert small(mode, seed=5) != small(mode, seed=6)


@pytest.mark.parametrize("mode", MODES)
def test_slices_do_not_change_the_result(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(mode)
    monkeypatch.setattr(run, "FIRST_EVENTS", 1)
    monkeypatch.setattr(run, "MOST_EVENTS", 1)
    assert small(mode) == whole


def every_mode() -> str:
    return " ".join(small(mode, placing=placing, steps=3) for mode in MODES for placing in PLACINGS)


def test_compiled_and_plain_code_give_the_same_bytes() -> None:
    if not kernel.JIT:
        pytest.skip("JIT is off in this run")
    code = "from tests.sims.systems.rl_rollout.test_determinism import every_mode; print(every_mode())"
    assert printed(code) == every_mode()


def test_each_kernel_is_compiled_for_one_signature() -> None:
    small()
    assert kernel.signatures(advance) == 1
    assert kernel.signatures(obey) == 1


def test_a_run_stops_within_a_second_of_the_wish() -> None:
    hooks = Impatient()
    with pytest.raises(Cancelled):
        simulate(reference(instances=200), problems=LONG_TAIL, steps=1_000_000, hooks=hooks, clock=process_time)
    assert hooks.longest_s < 1.0


def test_a_run_out_of_time_tells_what_it_knows() -> None:
    found = simulate(reference(), problems=LONG_TAIL, steps=1_000_000, budget_s=0.3, clock=ticks())
    assert found.ending == "budget"
    assert 0 < found.steps < 1_000_000
    assert found.step_s is not None
    assert found.useful_answers == found.measured_steps * 2048


class Telling(NoHooks):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.fractions: list[float] = []
        self.partials: list[dict] = []

    def progress(self, fraction: float, *, simulated_s: float, events: int, partial: dict | None = None) -> None:
        self.fractions.append(fraction)
        self.partials.append(dict(partial or {}))


def test_progress_counts_training_steps() -> None:
    hooks = Telling()
    found = simulate(reference(), problems=LONG_TAIL, steps=5, hooks=hooks)
    assert hooks.fractions[-1] == 1.0
    assert hooks.partials[-1]["steps_done"] == 5
    assert hooks.partials[-1]["answers_trained_on"] == found.answers_by[-1, 0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"problems": 0}, "problems"),
        ({"instances": 0}, "instances"),
        ({"train_s": float("nan")}, "train_s"),
        ({"step_s": 0.0, "step_s_per_sequence": 0.0}, "a step must take time"),
        ({"mode": "psychic"}, "mode"),
        ({"enforcement": "hope"}, "enforcement"),
        ({"swap": "later"}, "swap"),
        ({"placing": "anywhere"}, "placing"),
        ({"kv_tokens": 0.0}, "kv_tokens"),
        ({"mode": "asynchronous", "oversample": 0.1}, "oversample"),
        ({"answers": 1, "filtering": True}, "filtering"),
        ({"mode": "asynchronous", "scoring": Scoring(mean_s=1.0, when="batch")}, "scoring.when"),
        ({"oversample": 0.1, "scoring": Scoring(mean_s=1.0, when="batch")}, "scoring.when"),
    ],
)
def test_an_impossible_design_is_refused_by_name(change: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        config(**change)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"servers": 0}, "scoring.servers"),
        ({"mean_s": -1.0}, "scoring.mean_s"),
        ({"cv": float("inf")}, "scoring.cv"),
        ({"timeout_s": 0.0}, "scoring.timeout_s"),
        ({"on_timeout": "cry"}, "scoring.on_timeout"),
        ({"when": "never"}, "scoring.when"),
    ],
)
def test_impossible_scoring_is_refused_by_name(change: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Scoring(**change)


def test_impossible_answers_are_refused_by_name() -> None:
    for make, named in (
        (lambda: Lengths(0.5), "mean_tokens"),
        (lambda: Lengths(50_000.0), "mean_tokens"),
        (lambda: Lengths(10.0, cv=-1.0), "cv"),
        (lambda: Lengths(10.0, correlation=2.0), "correlation"),
        (lambda: Measured([]), "trace"),
        (lambda: Measured([3, 0]), "trace"),
        (lambda: problems(prompt_tokens=-1.0), "prompt_tokens"),
        (lambda: problems(chance_a=0.0), "chance_a"),
    ):
        with pytest.raises(ValueError, match=named):
            make()


def test_runs_that_cannot_be_are_refused() -> None:
    load = Problems(Lengths(10.0, cap_tokens=20))
    with pytest.raises(ValueError, match="warmup_steps"):
        simulate(config(), problems=load, steps=3, warmup_steps=3)
    with pytest.raises(ValueError, match="failure names instance 9"):
        simulate(config(), problems=load, steps=3, failures=[Failure(9, at_s=1.0)])
    for large in ({"problems": 100_000, "answers": 100}, {"instances": 10_000, "slots": 100_000, "answers": 10_000}):
        with pytest.raises(ValueError, match="more than memory is meant for"):
            simulate(config(**large), problems=load, steps=3)
