"""What a run tells on its way is kept short, in order, and never without its latest moment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.jobs.course import MOST_MOMENTS, Remembered


class Ear:
    def __init__(self):
        self.heard = []

    def progress(self, fraction, *, simulated_s, events, partial=None):
        self.heard.append(partial)

    def cancelled(self):
        return False


def told(moments):
    ear = Ear()
    hooks = Remembered(ear)
    for place, at_s in enumerate(moments):
        hooks.progress(0.0, simulated_s=at_s, events=0, partial={"queued": place, "ttft_p99_s": None, "of": {}})
    return ear.heard


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=400))
def test_a_course_is_short_and_ends_now(gaps):
    moments = [sum(gaps[: place + 1]) for place in range(len(gaps))]
    for place, partial in enumerate(told(moments)):
        course = partial["course"]
        assert len(course["time_s"]) == len(course["queued"]) <= MOST_MOMENTS
        assert course["time_s"] == sorted(course["time_s"])
        assert (course["time_s"][-1], course["queued"][-1]) == (moments[place], place)


def test_it_spans_the_run_from_its_beginning():
    course = told(range(1, 1001))[-1]["course"]
    assert course["time_s"][0] == 1
    apart = [b - a for a, b in zip(course["time_s"], course["time_s"][1:], strict=False)]
    assert max(apart) <= 2.5 * 1000 / (MOST_MOMENTS / 2)


def test_the_next_of_several_runs_begins_anew():
    assert told([1, 2, 3, 0, 1])[-1]["course"]["time_s"] == [0, 1]


def test_figures_that_do_not_exist_are_left_out():
    assert set(told([1])[-1]["course"]) == {"time_s", "queued"}
