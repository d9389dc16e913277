"""The validation page shows what was compared, and says what was not."""

from __future__ import annotations

import pytest

from planner.catalog.derived import published_totals
from planner.catalog.files import load

pytestmark = pytest.mark.django_db


def test_each_llm_that_quotes_a_total_has_a_row(signed_in):
    quoted = [llm for llm in load().llms() if llm.published_params]
    page = signed_in("vera").get("/validation/").content.decode()
    assert quoted
    for llm in quoted:
        assert f"/catalog/llms/{llm.slug}/" in page
    assert "not compared here yet" in page


def test_the_largest_error_stands_first_and_is_a_share_of_the_published_total():
    rows = published_totals(load())
    sizes = [abs(row["error"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    for row in rows:
        assert row["counted"] == pytest.approx(row["published"] * (1 + row["error"]))
