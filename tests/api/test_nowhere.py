"""Below `/api/` every address answers as the API does, found or not."""

from __future__ import annotations

import pytest

from tests.api.caller import Caller, check_problem


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/", "/api/v1/nothing/", "/api/v2/kinds/", "/api/v1/designs/not-an-id/", "/api/v1/%0A/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_address_is_a_problem_not_a_page(db: None, path: str, method: str) -> None:
    response = Caller().ask(method, path)
    assert response.status_code == 404
    assert "/api/schema/" in check_problem(response)["detail"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_missing_final_slash_is_put_right_for_every_method(db: None, method: str) -> None:
    response = Caller().ask(method, "/api/v1/estimates?x=1")
    assert (response.status_code, response["Location"]) == (308, "/api/v1/estimates/?x=1")


def test_a_strange_accept_header_is_a_406_problem(alice: Caller) -> None:
    assert alice.get("/api/v1/kinds/", Accept="image/png").status_code == 406


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/problem+json", "text/html,*/*;q=0.8"])
def test_json_is_given_to_who_takes_it(alice: Caller, accept: str) -> None:
    assert alice.get("/api/v1/kinds/", Accept=accept).status_code == 200


@pytest.mark.parametrize("name", ["xml", "", "problem"])
def test_a_format_there_is_not_is_a_422_that_names_the_parameter(alice: Caller, name: str) -> None:
    response = alice.get(f"/api/v1/kinds/?format={name}")
    assert response.status_code == 422
    assert check_problem(response)["errors"][0]["parameter"] == "format"


def test_replies_are_for_the_caller_alone(alice: Caller) -> None:
    response = alice.get("/api/v1/kinds/")
    assert "private" in response["Cache-Control"]
    assert "Authorization" in response["Vary"]
