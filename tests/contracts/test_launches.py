"""Every kind, every worked example, every target: settings are documented, traced, and make the GPUs of the design."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from planner import kinds
from planner.catalog.files import load
from planner.core.launch import Launch, Shell
from planner.core.launching.options import problem_of
from planner.core.result import Result

CATALOG = load()
STARTED = [example for example in kinds.examples() if kinds.planning(example.kind).launch is not None]
CASES = [
    pytest.param(example, target.slug, id=f"{example.slug}-{target.slug}")
    for example in STARTED
    for target in kinds.planning(example.kind).launch.targets(kinds.get(example.kind).spec(**example.spec))  # type: ignore[union-attr]
]


@cache
def answered(slug: str) -> tuple[Any, Result]:
    example = next(each for each in STARTED if each.slug == slug)
    kind = kinds.get(example.kind)
    spec = kind.spec(**example.spec)
    return spec, kind.estimate(spec, CATALOG)


@cache
def launched(slug: str, target: str) -> Launch:
    spec, result = answered(slug)
    launcher = kinds.planning(next(each for each in STARTED if each.slug == slug).kind).launch
    assert launcher is not None
    return launcher.launch(spec, result, CATALOG, target=target)


def made(example: kinds.Example, target: str) -> Launch:
    return launched(example.slug, target)


def documents(launch: Launch) -> Iterator[dict[str, Any]]:
    for manifest in launch.manifests:
        if manifest.media_type == "application/yaml":
            yield from (each for each in yaml.safe_load_all(manifest.text) if each)


def gpus_of(pod: dict[str, Any]) -> int:
    limits = pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
    return int(limits.get("nvidia.com/gpu", 0))


def gpus(launch: Launch) -> int:
    """GPUs that the manifests ask for."""
    total = 0
    for each in documents(launch):
        spec = each.get("spec", {})
        if each.get("kind") == "Deployment":
            total += spec["replicas"] * gpus_of(spec["template"])
        elif each.get("kind") == "LeaderWorkerSet":
            template = spec["leaderWorkerTemplate"]
            total += spec["replicas"] * template["size"] * gpus_of(template["workerTemplate"])
        elif each.get("kind") == "DynamoGraphDeployment":
            for part in spec["components"]:
                nodes = part.get("multinode", {}).get("nodeCount", 1)
                total += part["replicas"] * nodes * gpus_of(part["podTemplate"])
        elif "modelArtifacts" in each:
            for role in ("prefill", "decode"):
                cut = each[role].get("parallelism", {"tensor": 0, "data": 0})
                total += each[role]["replicas"] * cut["tensor"] * cut["data"]
    return total


@pytest.mark.parametrize(("example", "target"), CASES)
def test_every_setting_is_documented_and_traced(example: kinds.Example, target: str) -> None:
    launch = made(example, target)
    spec, result = answered(example.slug)
    refused = {each.flag for each in launch.refusals}
    assert launch.settings
    for setting in launch.settings:
        program = CATALOG.program(setting.program)
        assert program.options[setting.option.name] == setting.option
        assert setting.option.source.startswith("https://")
        assert setting.option.as_of
        assert setting.asked.why
        if setting.flag not in refused:
            assert problem_of(program, setting.option, setting.value) is None, setting
        assert not setting.asked.field or setting.asked.field in type(spec).model_fields
        assert not setting.asked.metric or setting.asked.metric in result.metrics
    for refusal in launch.refusals:
        assert refusal.reason
        assert refusal.change
        assert not refusal.field or refusal.field in type(spec).model_fields


@pytest.mark.parametrize(("example", "target"), CASES)
def test_what_is_offered_is_only_what_is_listed(example: kinds.Example, target: str) -> None:
    launch = made(example, target)
    assert launch.is_offered == bool(launch.commands or launch.manifests)
    flags = {each.flag for each in launch.settings}
    everything = "".join(each.text for each in (*launch.commands, *launch.manifests))
    for command in launch.commands:
        words = shlex.split(command.text.replace("\\\n", ""))
        assert words
        unknown = {word for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)} - flags
        assert unknown <= {"-m", "--model"}, unknown
    for setting in launch.settings:
        if setting.option.place == "argument" and launch.is_offered and not isinstance(setting.value, Shell):
            assert setting.option.type == "switch" or setting.text in everything, setting


@pytest.mark.parametrize(("example", "target"), CASES)
def test_the_manifests_ask_for_the_gpus_of_the_design(example: kinds.Example, target: str) -> None:
    launch = made(example, target)
    fleet = kinds.planning(example.kind).fleet
    if not any(each.media_type == "application/yaml" and "gpu" in each.text for each in launch.manifests):
        pytest.skip("nothing on GPUs is offered")
    assert fleet is not None
    spec, result = answered(example.slug)
    bought = fleet(spec, result, CATALOG)
    apart = [pool for pool in bought.pools if pool.name != "training"]
    # Where training and rollout take turns on the same GPUs, they are one pool.
    assert gpus(launch) == sum(pool.gpus for pool in apart or bought.pools)


def test_every_kind_says_how_it_is_started() -> None:
    assert {example.kind for example in STARTED} == set(kinds.all_kinds())


def test_every_kind_offers_something_for_its_reference_design() -> None:
    for slug, kind in kinds.all_kinds().items():
        launcher, spec = kinds.planning(slug).launch, kind.spec()
        assert launcher is not None
        assert launcher.launch(spec, kind.estimate(spec, CATALOG), CATALOG).is_offered, slug
