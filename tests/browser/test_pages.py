"""Every page in both themes and both widths: accessible, no overflow, a silent console."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.runs import finished
from tests.journeys.local_run import Api

pytestmark = pytest.mark.browser
# A replica of which measured points are drawn over the curve.
MEASURED = (
    '/designs/new/engine_instance/?set={"llm":"llama-3-1-70b","gpu":"h200-sxm","gpus":8,"weight_dtype":"fp8",'
    '"output_tokens":1024}'
)
PAGES = (
    "/",
    "/designs/new/",
    "/designs/new/llm_serving/",
    "/designs/new/engine_instance/",
    MEASURED,
    '/designs/new/engine_instance/?set={"rate_rps":28}',
    '/designs/new/engine_instance/?set={"rate_rps":3000}',
    "/designs/new/multi_lora/",
    "/designs/new/multi_lora/?example=multi-lora-past-the-cliff",
    "/designs/new/rl_rollout/",
    '/designs/new/rl_rollout/?set={"problems":0}',
    "/compare/",
    "/jobs/",
    "/catalog/",
    "/catalog/gpus/",
    "/catalog/gpus/h100-sxm/",
    "/catalog/llms/deepseek-v3/",
    "/workloads/",
    "/workloads/azure-2023-conversation/",
    "/methods/",
    "/methods/llm_serving/",
    "/methods/multi_lora/",
    "/methods/rl_rollout/",
    "/api-guide/",
    "/validation/",
    "/validation/?quantity=estimate_against_simulation&colour=gpu",
    "/validation/?quantity=parameters&family=Qwen&sort=id",
    "/account/",
    "/search/?q=deepseek",
)
LOOKS = [(1440, False), (1440, True), (390, False), (390, True)]


def assert_sound(page: Any, *, width: int) -> None:
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:160]) for rule in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_in_every_look(open_page: Any, path: str) -> None:
    for width, dark in LOOKS:
        page = open_page(path, width=width, dark=dark)
        assert_sound(page, width=width)


def test_a_comparison_is_accessible_in_every_look(open_page: Any, api: Api) -> None:
    ids = []
    for name, spec in (("Axe A", {}), ("Axe B", {"headroom": 0.1}), ("Axe C", {"spare_decode_units": 1})):
        ids.append(api.call("POST", "/api/v1/designs/", {"kind": "llm_serving", "name": name, "spec": spec})[1]["id"])
    for width, dark in LOOKS:
        page = open_page("/compare/?" + "&".join(f"d={one}" for one in ids), width=width, dark=dark)
        assert_sound(page, width=width)


DECIDING = ("sweep", "money", "reliability", "sensitivity", "launch")


def test_the_pages_of_a_decision_are_accessible(open_page: Any, api: Api) -> None:
    design = {"kind": "llm_serving", "name": "Decided", "spec": {}}
    made = api.call("POST", "/api/v1/designs/", design)[1]["id"]
    for width, dark in ((1440, False), (390, True)):
        for name in DECIDING:
            assert_sound(open_page(f"/designs/{made}/{name}/", width=width, dark=dark), width=width)


def test_plans_are_accessible(open_page: Any, api: Api) -> None:
    members = [
        {"name": name, "kind": kind, "spec": {}} for name, kind in (("pool", "kv_pool"), ("main", "llm_serving"))
    ]
    for member in members:
        made = api.call("POST", "/api/v1/designs/", {**member, "name": f"Joined {member['name']}"})[1]["id"]
        member |= {"design": made}
        del member["kind"], member["spec"]
    body = {
        "name": "Joined",
        "save": True,
        "members": members,
        "joins": [{"from": "pool", "to": "main", "via": "prefix_hit_rate"}],
    }
    plan = api.call("POST", "/api/v1/plans/", body)[1]["url"].rstrip("/").rsplit("/", 1)[1]
    for width, dark in ((1440, False), (390, True)):
        assert_sound(open_page("/plans/", width=width, dark=dark), width=width)
        assert_sound(open_page(f"/plans/{plan}/", width=width, dark=dark), width=width)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "multi_lora", "duration_s": 20},
        {"kind": "rl_rollout", "options": {"steps": 2, "warmup_steps": 1}},
    ],
    ids=lambda body: body["kind"],
)
def test_a_run_is_accessible_in_every_look(open_page: Any, api: Api, body: dict[str, Any]) -> None:
    status, _, headers = api.call("POST", "/api/v1/simulations/", {"spec": {}, **body})
    assert status == 202
    path = headers["Location"].removeprefix("/api/v1")
    finished(open_page(path))
    for width, dark in LOOKS:
        assert_sound(open_page(path, width=width, dark=dark), width=width)


def test_kinds_beside_each_other_are_accessible_in_every_look(open_page: Any, api: Api) -> None:
    kinds = ("multi_lora", "rl_rollout", "gateway")
    ids = [api.call("POST", "/api/v1/designs/", {"kind": kind, "name": f"Axe {kind}"})[1]["id"] for kind in kinds]
    for width, dark in LOOKS:
        page = open_page("/compare/?" + "&".join(f"d={one}" for one in ids), width=width, dark=dark)
        assert_sound(page, width=width)


def test_money_follows_its_terms_and_is_accessible_in_every_look(open_page: Any, api: Api) -> None:
    made = api.call("POST", "/api/v1/designs/", {"kind": "kv_pool", "name": "Axe money"})[1]
    path = f"/designs/{made['id']}/money/"
    for width, dark in LOOKS:
        assert_sound(open_page(f"{path}?source=owned&spot_share=30", width=width, dark=dark), width=width)
    page = open_page(path)
    page.locator("#i-currency").select_option("EUR")
    page.wait_for_url("**currency=EUR**")
    page.locator("#answer").get_by_text("EUR/h").first.wait_for()


def test_keys_lead_where_they_say(open_page: Any) -> None:
    page = open_page("/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 5, "y": 500})
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs/")
    page.keyboard.press("n")
    page.wait_for_url("**/designs/new/")


def test_the_theme_is_kept_without_a_flash(open_page: Any) -> None:
    page = open_page("/")
    page.locator("[data-theme-switch]:visible").first.click()
    chosen = page.locator("html").get_attribute("data-theme")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == chosen
