"""What a run has shown: step times and their parts, shares of time by role, ages, what became of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sims.engine import merge
from sims.engine.interval import Interval, replicated_interval
from sims.engine.sketch import percentile
from sims.parts.rollouts import AREAS, COUNTS, STAGES, T_STAGES
from sims.systems.rl_rollout.config import Config
from sims.systems.rl_rollout.roles import ACTIVITIES, FATES, TRAINER_ACTIVITIES, shares_of
from sims.systems.rl_rollout.state import State
from sims.systems.rl_rollout.timeline import Levels, Span, levels_of, spans_of

Rows = NDArray[Any]
SKETCHES = ("score_wait", "score_delay")
BATCHES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Sums are kept at the end of every training step; figures are of the window after ``warmup_steps`` of them.

    ``ending``: "complete", "budget" (out of time), or "stuck": nothing can happen any more (all instances are dead), or
    nearly all that is generated is thrown away.
    """

    config: Config
    ending: str
    warmup_steps: int
    steps: int
    """Training steps done."""
    simulated_s: float
    events: int
    rows: Rows
    """Row k: the end of training step k, with all sums so far; row 0 is the start."""
    spent_s: NDArray[np.float64]
    """Time of all instances [row, stage] [s]."""
    trained_s: NDArray[np.float64]
    answers_by: NDArray[np.int64]
    tokens_by: NDArray[np.int64]
    """What became of answers and tokens [row, fate]."""
    ages: NDArray[np.int64]
    """Answers trained on [class of length, versions since they began]; classes are eighths of the longest answer."""
    group_ages: NDArray[np.int64]
    """Groups trained on, by the age of their oldest answer."""
    sketches: dict[str, NDArray[np.int64]]
    """Histograms of seconds: ``score_wait``, ``score_delay`` (wait and service)."""
    longest: int
    """The most tokens an answer can have."""
    cut_share: float
    """Share of answers drawn that were cut because an instance's KV could not hold them."""
    levels: Levels
    """Samples over the whole run."""
    drawn: Levels
    """Dense samples over the steps that are drawn."""
    spans: tuple[Span, ...]
    """What each instance and the trainer did in the steps that are drawn."""
    drawn_s: tuple[float, float]
    in_flight: dict[str, int]
    """At the end of the run: answers of open groups, their tokens so far."""
    windows_s: tuple[NDArray[np.float64], ...]
    """Times of the measured steps of each replication; all else of several is their mean, and what is drawn is of the
    first."""

    MERGED: ClassVar[Mapping[str, merge.Rule]] = {
        "config": merge.same,
        "ending": merge.worst,
        "warmup_steps": merge.lowest,
        "steps": merge.lowest,
        "longest": merge.highest,
        **dict.fromkeys(("rows", "spent_s", "trained_s", "answers_by", "tokens_by", "in_flight"), merge.averaged),
        **dict.fromkeys(("levels", "drawn", "spans", "drawn_s"), merge.first),
        "windows_s": merge.joined,
    }

    @classmethod
    def of(cls, state: State, *, config: Config, ending: str, cut_share: float) -> Outcome:
        """Read a finished run."""
        totals, params = state.totals[0], state.params[0]
        done = int(totals.version)
        warmup = min(int(params.measured_from), done)
        ends = np.cumsum([STAGES, T_STAGES, len(FATES)])
        spent_s, trained_s, answers_by, tokens_by = np.split(state.kept[: done + 1].copy(), ends, axis=1)
        live = state.answers[np.repeat(state.groups.stage > 0, config.answers)[: len(state.answers)]]
        return cls(
            config=config,
            ending=ending,
            warmup_steps=warmup,
            steps=done,
            simulated_s=float(totals.now_s),
            events=int(totals.events),
            rows=state.rows[: done + 1].copy(),
            spent_s=spent_s,
            trained_s=trained_s,
            answers_by=answers_by.astype(np.int64),
            tokens_by=tokens_by.astype(np.int64),
            ages=state.ages[:-1].copy(),
            group_ages=state.ages[-1].copy(),
            sketches={name: state.sketches[which].copy() for which, name in enumerate(SKETCHES)},
            longest=int(params.longest),
            cut_share=cut_share,
            levels=levels_of(state, 0),
            drawn=levels_of(state, 1),
            spans=spans_of(state),
            drawn_s=(_row_s(state, params.drawn_from), _row_s(state, min(done, params.drawn_to))),
            in_flight={"answers": len(live), "tokens": int(state.totals[0].generated_tokens - state.fates[1].sum())},
            windows_s=(np.diff(state.rows[warmup : done + 1]["at_s"]),),
        )

    def window(self, name: str) -> float:
        """What a sum of a row grew by in the window."""
        return float(self.rows[self.steps][name] - self.rows[self.warmup_steps][name])

    def open_at(self, row: int) -> int:
        """Answers asked for whose fate was not decided at the end of a training step."""
        return int(self.rows[row]["opened"]) - int(self.answers_by[row].sum())

    @property
    def counts(self) -> dict[str, int]:
        """All sums of the window."""
        return {name: int(self.window(name)) for name in COUNTS}

    @property
    def window_s(self) -> float:
        """Length of the window [s]."""
        return self.window("at_s")

    @property
    def measured_steps(self) -> int:
        """Training steps in the window."""
        return self.steps - self.warmup_steps

    @property
    def step_times_s(self) -> NDArray[np.float64]:
        """From the end of one training step to that of the next, in the window [s]."""
        times: NDArray[np.float64] = np.diff(self.rows["at_s"][self.warmup_steps :])
        return times

    @property
    def step_s(self) -> Interval | None:
        """Mean time of a step with its interval [s]."""
        windows = [times for times in self.windows_s if len(times)]
        if not windows:
            return None
        batches = [np.array_split(times, min(BATCHES, len(times))) for times in windows]
        return replicated_interval(
            float(np.concatenate(windows).mean()),
            own=[float(times.mean()) for times in windows],
            batches=[[float(part.mean()) for part in parts] for parts in batches],
        )

    @property
    def parts_s(self) -> dict[str, float]:
        """Mean parts of a step [s]; they add up to it where generation and training take turns.

        ``generate``: from the start of a batch to the end of its last answer; ``score``: from there until the batch is
        complete; ``train``; ``other``: hand-over of weights and GPUs. When asynchronous, ``generate`` and ``score``
        are not told apart: ``wait`` is what the trainer waited for a batch.
        """
        rows = self.rows[self.warmup_steps + 1 :]
        if not len(rows):
            return {}
        train, whole = self.config.train_s, float(self.step_times_s.mean())
        if self.config.mode in ("asynchronous", "one_step_off"):
            wait = self.trainer_shares["wait"] * whole
            parts = {"wait": wait, "train": train, "other": whole - wait - train}
            if self.config.mode == "one_step_off":
                parts["generate"], parts["score"] = self._generation_s(rows)
            return parts
        generate, score = self._generation_s(rows)
        return {"generate": generate, "score": score, "train": train, "other": whole - generate - score - train}

    def _generation_s(self, rows: Rows) -> tuple[float, float]:
        before = self.rows[self.warmup_steps : -1]
        # A batch one step off begins with the training before it; else instances take the weights first.
        opened = before["opened_s"] if self.config.mode == "one_step_off" else rows["opened_s"] + self.config.pause_s
        ended = np.minimum(rows["generated_s"], rows["ready_s"])
        return float((ended - opened).mean()), float((rows["ready_s"] - ended).mean())

    @property
    def instance_shares(self) -> dict[str, float]:
        """Shares of the instances' time in the window; they add up to 1."""
        return shares_of(self.spent_s[self.steps] - self.spent_s[self.warmup_steps], ACTIVITIES)

    @property
    def trainer_shares(self) -> dict[str, float]:
        """Shares of the trainer's time in the window; they add up to 1."""
        return shares_of(self.trained_s[self.steps] - self.trained_s[self.warmup_steps], TRAINER_ACTIVITIES)

    @property
    def scoring_share(self) -> float | None:
        """Share of the scoring servers that were busy; None when there are as many as are asked for."""
        servers = self.config.scoring.servers
        if servers is None or self.window_s <= 0 or self.config.scoring.mean_s <= 0:
            return None
        return self.window("scoring_s") / (servers * self.window_s)

    @property
    def mean_scoring(self) -> float:
        """Servers busy on average."""
        return self._per_s("scoring_s")

    @property
    def mean_running(self) -> float:
        """Answers running on average, of all instances."""
        return self._per_s("running_s")

    def _per_s(self, name: str) -> float:
        return self.window(name) / self.window_s if self.window_s > 0 else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Tokens generated a second by an instance."""
        return self._per_s("generated_tokens") / self.config.instances

    def utilisation(self, rated_tokens_per_s: float) -> float:
        """Tokens generated over what the instances would at their rated speed."""
        return self.tokens_per_s / rated_tokens_per_s

    @property
    def fates(self) -> dict[str, tuple[int, int]]:
        """Answers and tokens of the window by what became of them (``lost`` has no answers: they start anew)."""
        answers = self.answers_by[self.steps] - self.answers_by[self.warmup_steps]
        tokens = self.tokens_by[self.steps] - self.tokens_by[self.warmup_steps]
        return {name: (int(answers[code]), int(tokens[code])) for name, code in FATES.items()}

    def token_share(self, *names: str) -> float | None:
        """Share of the tokens whose fate was decided in the window; None without any."""
        fates = self.fates
        whole = sum(tokens for _, tokens in fates.values())
        return sum(fates[name][1] for name in names) / whole if whole else None

    @property
    def useful_answers(self) -> int:
        """Answers trained on in the window."""
        return self.fates["trained_on"][0]

    @property
    def useful_per_gpu_hour(self) -> float | None:
        """Answers trained on an hour of one of all GPUs."""
        if self.window_s <= 0:
            return None
        return self.useful_answers / (self.config.gpus * self.window_s / 3600)

    @property
    def mean_staleness(self) -> float | None:
        """Versions between an answer's first token and its use, on average."""
        return self.window("age_sum") / self.useful_answers if self.useful_answers else None

    @property
    def mean_token_staleness(self) -> float | None:
        """Versions between a token and its use, averaged over the tokens of an answer, then over answers."""
        return self.window("token_age_sum") / self.useful_answers if self.useful_answers else None

    @property
    def late_share(self) -> float | None:
        """Share of the answers trained on that were older than the bound."""
        return self.counts["late"] / self.useful_answers if self.useful_answers else None

    @property
    def staleness_by_length(self) -> NDArray[np.float64]:
        """Mean age of each class of length [versions]; NaN where there was no answer."""
        counts = self.ages.sum(axis=1)
        sums = self.ages @ np.arange(self.ages.shape[1])
        means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        return means

    @property
    def capped_share(self) -> float | None:
        """Share of the answers that ended at the limit: P(cap)."""
        counts = self.counts
        return counts["capped"] / counts["ended"] if counts["ended"] else None

    @property
    def mean_score_wait_s(self) -> float | None:
        """How long an answer waited for a server [s]."""
        count = int(self.sketches["score_wait"].sum())
        return self.window("scoring_wait_s") / count if count else None

    def quantile_s(self, name: str, *, q: float) -> float | None:
        """A quantile of ``score_wait`` or ``score_delay`` [s]."""
        return percentile(self.sketches[name], q=q)

    @property
    def sums(self) -> dict[str, float]:
        """All integrals of the window."""
        return {name: self.window(name) for name in AREAS}


def _row_s(state: State, index: Any) -> float:
    return float(state.rows[min(int(index), int(state.totals[0].version))].at_s)
