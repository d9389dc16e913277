from __future__ import annotations

import pytest

from planner.core.run_options import check_length, check_moments, read_options
from planner.core.simulation import OptionDef, SimulationRequest

KNOWN = (
    OptionDef("scale", "Rate, times", 1.0, minimum=0.5, maximum=4.0),
    OptionDef("router", "Router", "near", choices=("near", "far")),
)


def test_options_left_empty_keep_their_defaults():
    assert read_options({"scale": "", "router": None}, known=KNOWN) == {}
    assert read_options({"scale": "2", "router": "far"}, known=KNOWN) == {"scale": 2.0, "router": "far"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"speed": 1}, "options.speed: there is no such option; there are scale, router"),
        ({"scale": 5}, "options.scale: must be a number from 0.5 to 4"),
        ({"scale": True}, "options.scale"),
        ({"scale": float("nan")}, "options.scale"),
        ({"scale": [1]}, "options.scale"),
        ({"router": "left"}, "options.router: must be one of near, far"),
    ],
)
def test_a_bad_option_is_named(given, named):
    with pytest.raises(ValueError, match=named.replace("(", r"\(")):
        read_options(given, known=KNOWN)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (SimulationRequest(duration_s=0.0), "duration_s: must be above 0"),
        (SimulationRequest(duration_s=2e9), "duration_s: must be above 0"),
        (SimulationRequest(requests=0), "requests: must be from 1 to 1,000"),
        (SimulationRequest(requests=1001), "requests: must be from 1 to 1,000"),
        (SimulationRequest(duration_s=101.0), "duration_s: 1,010 requests would arrive"),
    ],
)
def test_a_run_without_length_or_too_long_is_refused(request_, named):
    with pytest.raises(ValueError, match=named):
        check_length(request_, most_requests=1000, rate_rps=10.0, usual_s=60.0)


def test_a_trace_brings_its_own_arrivals():
    check_length(SimulationRequest(duration_s=1e6), most_requests=1000, rate_rps=None, usual_s=60.0)
    check_length(SimulationRequest(requests=1000, duration_s=1e6), most_requests=1000, rate_rps=10.0, usual_s=60.0)


def test_a_moment_beyond_the_run_is_named():
    check_moments(SimulationRequest(), moments={"fail_at_s": 1e9})
    check_moments(SimulationRequest(duration_s=10.0), moments={"fail_at_s": None, "warmup_s": 9.0})
    with pytest.raises(ValueError, match=r"options\.fail_at_s: 10 s is not within the run of 10 s"):
        check_moments(SimulationRequest(duration_s=10.0), moments={"fail_at_s": 10.0})
