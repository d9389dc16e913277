"""The menu that starts a simulation: its options as they are shown."""

from __future__ import annotations

import re

from django.template.loader import render_to_string

from planner import kinds
from planner.core.simulation import OptionDef, Simulator
from planner.web import run_form

OPTIONS = (
    OptionDef("warm", "Warm-up", None, unit="s"),
    OptionDef(
        "arrivals", "Arrivals", "auto", choices=("auto", "day"), choice_labels=("As it comes", "A day"), group="Load"
    ),
    OptionDef("peak_h", "Peak at", 12.0, unit="h", group="Load", only_with=("arrivals", ("day",))),
    OptionDef("rejoin_s", "Rejoins after", None, group="Faults", only_with=("fail_s", ())),
    OptionDef("fail_s", "Fails at", None, group="Faults"),
)


def menu(posted: dict[str, str]) -> str:
    simulator = Simulator(run=lambda *_: None, charts=lambda *_: [], options=OPTIONS)
    run = run_form.shown(simulator, posted=posted, failed=False)
    kind = next(iter(kinds.all_kinds().values()))
    page = render_to_string("designs/simulate_menu.html", {"simulator": simulator, "run": run, "kind": kind})
    return re.sub(r"\s+", " ", page)


def test_options_of_a_group_stand_together():
    page = menu({})
    order = [page.index(f'id="opt-{name}"') for name in ("warm", "arrivals", "peak_h", "rejoin_s", "fail_s")]
    assert order == sorted(order)
    heads = [page.index(f"<summary>{name}</summary>") for name in ("Options", "Load", "Faults")]
    assert heads[0] < order[0] < heads[1] < order[1] < heads[2] < order[3]
    assert page.count('<details class="options">') == 3


def test_an_option_says_with_what_it_is_shown():
    page = menu({})
    assert 'data-only-with="opt-arrivals" data-values="day"' in page
    assert 'data-only-with="opt-fail_s" data-values=""' in page
    assert page.count("data-only-with") == 2


def test_a_choice_is_shown_in_words_and_kept_as_chosen():
    assert '<option value="auto" selected>As it comes</option>' in menu({})
    assert '<option value="day" selected>A day</option>' in menu({"opt_arrivals": "day"})
