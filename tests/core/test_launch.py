"""What is asked, held against the options of programs; words of a command line; what would not start."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import yaml

from planner import kinds
from planner.catalog.files import load
from planner.core.launch import Asked, Launch, Option, Program, Shell, UnknownTarget
from planner.core.launching import shell
from planner.core.launching.options import numbers, problem_of, settle

CATALOG = load()


def option(**changes: Any) -> Option:
    stated = {
        "name": "size",
        "flag": "--size",
        "type": "int",
        "place": "argument",
        "source": "https://x",
        "as_of": "2026",
    }
    return Option(**{**stated, **changes})


def program(*options: Option) -> Program:
    return Program("p", "P", "1", ("p",), "", "https://x", "2026", {each.name: each for each in options}, {})


class TestOptions:
    @pytest.mark.parametrize(
        ("given", "value", "words"),
        [
            (option(), "8", "takes a whole number"),
            (option(), 1.5, "takes a whole number"),
            (option(), True, "takes a whole number"),
            (option(type="switch"), 1, "takes on or off"),
            (option(type="json"), "{}", "takes JSON"),
            (option(choices=(1, 8, 16)), 24, "takes 1, 8, 16"),
            (option(least=1), 0, "at least 1"),
            (option(type="float", most=1), 1.2, "at most 1"),
        ],
    )
    def test_what_an_option_does_not_take_is_refused(self, given: Option, value: Any, words: str) -> None:
        problem = problem_of(program(given), given, value)
        assert problem is not None
        assert words in problem[0]
        assert problem[1]

    @pytest.mark.parametrize(
        ("given", "value"),
        [(option(), 8), (option(type="float"), 0.5), (option(choices=("a",), type="text"), "a"), (option(least=1), 1)],
    )
    def test_what_it_takes_is_not(self, given: Option, value: Any) -> None:
        assert problem_of(program(given), given, value) is None

    @pytest.mark.parametrize(
        ("version", "known"),
        [("0.10", False), ("0.11", True), ("0.11.2", True), ("1.0", False), ("", True), ("odd", True)],
    )
    def test_a_version_without_the_option_is_refused(self, version: str, known: bool) -> None:
        given = option(since="0.11", until="1.0")
        assert (problem_of(program(given), given, 1, version=version) is None) is known

    def test_an_option_nobody_documents_is_refused_or_left_out(self) -> None:
        asked = [Asked("other", 1, "why", field="f"), Asked("rest", 2, "why", needed=False)]
        settled = settle(program(option()), asked)
        assert [each.field for each in settled.refusals] == ["f"]
        assert not settled.settings
        assert len(settled.notes) == 1

    def test_words_are_spelled_as_the_program_does(self) -> None:
        given = option(type="text", choices=("bfloat16",), spelled={"bf16": "bfloat16"})
        settled = settle(program(given), [Asked("size", "bf16", "why")])
        assert settled.value("size") == "bfloat16"
        assert not settled.refusals

    def test_versions_are_compared_by_number(self) -> None:
        assert numbers("v0.9.2") < numbers("0.10") < numbers("0.11.1rc2")


class TestWords:
    @pytest.mark.parametrize("odd", ["it's; rm -rf /", "$(whoami)", "a b", 'q"u', "`id`", "-x", "模型"])
    def test_odd_names_stay_one_word(self, odd: str) -> None:
        given = option(type="text")
        text = shell.line(("run", "--this"), shell.arguments(settle(program(given), [Asked("size", odd, "")]).settings))
        assert shlex.split(text.replace("\\\n", "")) == ["run", "--this", "--size", odd]

    def test_json_survives_the_shell(self) -> None:
        given = option(type="json")
        settled = settle(program(given), [Asked("size", {"method": "mtp", "n": 1}, "")])
        assert shlex.split(shell.line(("run",), shell.arguments(settled.settings)).replace("\\\n", ""))[-1] == (
            '{"method":"mtp","n":1}'
        )

    def test_what_the_shell_fills_in_is_quoted_but_open(self) -> None:
        settled = settle(program(option(type="text")), [Asked("size", Shell("$LEADER:20000"), "")])
        assert '"$LEADER:20000"' in shell.line(("run",), shell.arguments(settled.settings))


def started(spec: dict[str, Any], target: str = "") -> Launch:
    kind = next(each for each in kinds.all_kinds().values() if "tensor_parallel" in each.spec.model_fields)
    launcher = kinds.planning(kind.slug).launch
    assert launcher is not None
    checked = kind.spec(**spec)
    return launcher.launch(checked, kind.estimate(checked, CATALOG), CATALOG, target=target)


SMALL = {"llm": "llama-3-1-8b", "gpu": "h100-sxm", "gpus": 1, "max_model_len": 8192}


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "target", "flag", "words"),
        [
            ({"max_model_len": 2_000_000}, "vllm", "--max-model-len", "KV pool"),
            ({"gpus": 3, "tensor_parallel": 3}, "vllm", "--tensor-parallel-size", "32 attention heads"),
            ({"weight_dtype": "int4"}, "vllm", "weights", "no option makes INT4"),
            ({"weight_dtype": "fp8"}, "tensorrt_llm", "weights", "no option makes FP8"),
            ({"draft": 1}, "sglang", "--speculative-num-steps", "draft layer"),
            ({"gpu": "mi300x"}, "tensorrt_llm", "model", "NVIDIA"),
            ({"block_size": 24}, "vllm", "--block-size", "1, 8, 16"),
            ({"max_num_seqs": 512, "max_num_batched_tokens": 256}, "vllm", "--max-num-batched-tokens", "no room"),
            ({"kv_dtype": "int8"}, "vllm", "--kv-cache-dtype", "int8"),
            (
                {"gpus": 4, "tensor_parallel": 4, "context_parallel": 2},
                "sglang",
                "context parallel",
                "documents no option",
            ),
            (
                {"gpus": 2, "tensor_parallel": 1, "data_parallel_attention": 2, "engine_version": "0.8.5"},
                "vllm",
                "--data-parallel-size",
                "0.10.1",
            ),
            ({"llm": "llama-3-1-405b"}, "vllm", "fits", "does not start"),
        ],
    )
    def test_what_would_not_start_is_not_offered(
        self, change: dict[str, Any], target: str, flag: str, words: str
    ) -> None:
        made = started({**SMALL, "engine": target, **change}, target)
        assert not made.is_offered
        assert not made.commands
        assert not made.manifests
        found = [each for each in made.refusals if each.flag == flag]
        assert found
        assert words in found[0].reason
        assert found[0].change

    def test_the_change_that_is_named_is_taken(self) -> None:
        wide = {**SMALL, "engine": "vllm"}
        pool = kinds.get("engine_instance").estimate(kinds.get("engine_instance").spec(**wide), CATALOG)
        most = int(pool.value("longest_request_tokens") or 0)
        assert started({**wide, "max_model_len": 131_072}).is_offered == (most >= 131_072)

    def test_a_target_nobody_knows_is_named_with_those_there_are(self) -> None:
        with pytest.raises(UnknownTarget, match="vllm"):
            started(SMALL, "ollama")


class TestUnits:
    @pytest.mark.parametrize("target", ["vllm", "sglang"])
    @pytest.mark.parametrize(
        "cut",
        [
            {"llm": "llama-3-1-405b", "gpus": 16, "tensor_parallel": 8, "pipeline_parallel": 2},
            {
                "llm": "deepseek-v3",
                "gpu": "h200-sxm",
                "gpus": 16,
                "tensor_parallel": 1,
                "data_parallel_attention": 16,
                "expert_parallel": 16,
            },
        ],
    )
    def test_nodes_of_a_unit_have_all_its_gpus(self, cut: dict[str, Any], target: str) -> None:
        made = started({"gpu": "h100-sxm", "max_model_len": 8192, **cut, "engine": target}, target)
        assert made.is_offered, made.refusals
        documents = [document for each in made.manifests for document in yaml.safe_load_all(each.text)]
        group = next(each for each in documents if each["kind"] == "LeaderWorkerSet")
        template = group["spec"]["leaderWorkerTemplate"]
        for name in ("leaderTemplate", "workerTemplate"):
            limits = template[name]["spec"]["containers"][0]["resources"]["limits"]
            assert template["size"] * int(limits["nvidia.com/gpu"]) == 16
        assert len(made.commands) == 2

    def test_sglang_counts_copies_inside_its_ranks(self) -> None:
        spec = {"llm": "deepseek-v3", "gpu": "h200-sxm", "gpus": 8, "tensor_parallel": 2, "data_parallel_attention": 4}
        made = started({**spec, "max_model_len": 8192, "engine": "sglang"}, "sglang")
        values = {each.flag: each.value for each in made.settings}
        assert values["--tp-size"] == 8
        assert values["--dp-size"] == 4

    def test_the_file_of_settings_says_what_the_command_line_does_not(self) -> None:
        made = started({**SMALL, "kv_dtype": "fp8", "engine": "tensorrt_llm"}, "tensorrt_llm")
        file = next(each for each in made.manifests if each.filename.endswith("settings.yaml"))
        assert yaml.safe_load(file.text) == {"kv_cache_config": {"dtype": "fp8"}}
