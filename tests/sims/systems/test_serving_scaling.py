"""Units come and go with the load and with the hour; nothing is lost when they do."""

from __future__ import annotations

import numpy as np
import pytest

from sims.parts.arrivals import Table
from sims.parts.scaling import Policy
from sims.parts.traces import Trace
from sims.systems.llm_serving import Control, Failure, Night, Scaling, simulate
from sims.systems.llm_serving.pools import LOADING, RELEASED
from tests.sims.systems.scene import audited, config, poisson
from tests.sims.systems.test_serving_losses import plain

BOTH = pytest.mark.parametrize("aggregated", [False, True])


def evenly(*stretches: tuple[float, float, float]) -> Trace:
    """Requests at even gaps: (from, to, a second), prompts of one token and answers of 100."""
    at_s = np.concatenate([np.arange(begin, end, 1 / rate) for begin, end, rate in stretches])
    return Trace(Table(at_s=at_s, input=np.full(len(at_s), 1), output=np.full(len(at_s), 100)))


def up_at(found, at_s: float) -> int:
    """Decode units up at the sample nearest to a moment."""
    return min(found.samples, key=lambda sample: abs(sample.at_s - at_s)).units_up


def test_units_follow_a_step_of_the_load() -> None:
    """An answer stays 1 s, so a rate is a number of sequences: 5 → 35 → 5 of them at a target of 10 a unit."""
    policy = Policy(target=10.0, least=1, most=6, calm_s=30.0)
    control = Control(scaling=[Scaling(policy=policy, every_s=5.0)], load_s=12.0)
    found = audited(
        plain(decode_units=6), arrivals=evenly((0, 100, 5), (100, 200, 35), (200, 400, 5)), control=control, samples=400
    )
    assert found.finished == found.arrived
    # All six at the start; one is enough after the calm time.
    assert up_at(found, 4.0) == 6
    assert up_at(found, 90.0) == 1
    # 35 sequences are seen at 105 s and ask for four units, of which three load for 12 s.
    assert up_at(found, 116.0) == 1
    assert up_at(found, 118.0) == 4
    assert up_at(found, 199.0) == 4
    # What more than one unit was wanted is forgotten 30 s after the last such look, at 200 s.
    assert up_at(found, 229.0) == 4
    assert up_at(found, 245.0) == 1
    usage = found.usage["decode"]
    assert (usage.least_up, usage.most_up) == (1, 6)
    assert usage.unit_s[LOADING] == pytest.approx(3 * 12.0)
    assert usage.used_s + usage.released_s == pytest.approx(6 * found.horizon_s)


@BOTH
def test_a_unit_that_drains_finishes_what_it_has(aggregated: bool) -> None:
    """Half of the units leave at an instant of full load: all requests are answered, none is computed again."""
    control = Control(nights=[Night(from_h=5 / 3600, to_h=15 / 3600, units=1)], load_s=2.0)
    found = audited(
        config(aggregated=aggregated), arrivals=poisson(requests=600, rate=30.0), control=control, samples=100
    )
    assert found.finished == 600
    assert found.restarted == 0
    assert found.usage["decode"].least_up == 1


def test_a_night_releases_units_and_brings_them_back_ahead_of_time() -> None:
    """From 2:00 to 4:00 one of three units stays; loading takes half an hour, so the others load from 3:30."""
    control = Control(nights=[Night(from_h=2, to_h=4, units=1)], load_s=1800.0)
    arrivals = poisson(rate=0.01, duration_s=6 * 3600.0)
    found = simulate(plain(decode_units=3), arrivals=arrivals, control=control, samples=720)
    released_h = found.usage["decode"].unit_s[RELEASED] / 3600
    # Two units for an hour and a half; each drains for a look, a second, or as long as its last answer takes.
    assert released_h == pytest.approx(3.0, abs=0.01)
    assert [up_at(found, hour * 3600.0) for hour in (1.9, 2.1, 3.9, 4.1)] == [3, 1, 1, 3]
    assert found.usage["decode"].mean_up == pytest.approx((4 * 3 + 2 * 1) / 6, abs=0.01)


def test_a_night_wraps_round_midnight_and_comes_every_day() -> None:
    """A run from 0:00 on begins in a night; the third one is cut by its end."""
    control = Control(nights=[Night(from_h=22, to_h=6, units=1)])
    arrivals = poisson(rate=0.001, duration_s=72 * 3600.0)
    found = simulate(plain(decode_units=2), arrivals=arrivals, control=control, samples=72)
    assert found.usage["decode"].released_s / 3600 == pytest.approx(6 + 2 * 8 + 2, abs=0.1)


def test_prefill_units_scale_by_their_work() -> None:
    """400 tokens a second at 1 ms each keep 0.4 of a unit at work: one unit at a target of 0.7."""
    policy = Policy(target=0.7, least=1, most=4, calm_s=10.0)
    control = Control(scaling=[Scaling(policy=policy, every_s=5.0, load="busy", role="prefill")], load_s=1.0)
    at_s = np.concatenate([np.arange(0, 100, 0.25), np.arange(100, 200, 0.05)])
    table = Table(at_s=at_s, input=np.full(len(at_s), 100), output=np.full(len(at_s), 1))
    found = audited(plain(prefill_units=4), arrivals=Trace(table), control=control, samples=200)
    ups = {round(sample.at_s): sample.prefill_units_up for sample in found.samples}
    assert ups[90] == 1
    # 2,000 tokens a second are two units' whole work and want three.
    assert ups[190] == 3
    assert found.finished == found.arrived


def test_a_unit_is_lost_while_it_drains() -> None:
    control = Control(
        nights=[Night(from_h=5 / 3600, to_h=2, units=1)],
        failures=[Failure(unit=1, at_s=5.0, detection_s=0.5, rejoin_s=3.0), Failure(unit=0, at_s=5.0, rejoin_s=3.0)],
    )
    found = audited(config(), arrivals=poisson(requests=300, rate=30.0), control=control, samples=100)
    assert found.finished == 300


@pytest.mark.parametrize(
    ("control", "named"),
    [
        (Control(nights=[Night(from_h=1, to_h=1, units=1)]), "an hour to another"),
        (Control(nights=[Night(from_h=1, to_h=2, units=0)]), "at least 1 unit"),
        (Control(failures=[Failure(unit=1, at_s=1.0, rejoin_s=1.0, together=2)]), "unit 1 of 2"),
        (Control(failures=[Failure(unit=0, at_s=1.0, rejoin_s=1.0, role="mail")]), "unit 0 of 0"),
    ],
)
def test_an_impossible_plan_is_refused_by_name(control: Control, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        simulate(config(), arrivals=poisson(duration_s=5.0), control=control)


def test_a_day_may_be_short_and_begin_at_any_hour() -> None:
    """A day of 240 s begun at 23:00: the night from 1:00 to 4:00 lies from 20 s to 50 s."""
    night = Night(from_h=1, to_h=4, units=1, start_h=23.0, day_s=240.0)
    spans = night.spans_s()
    assert [next(spans) for _ in range(2)] == [(20.0, 50.0), (260.0, 290.0)]
