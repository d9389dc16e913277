"""A team's own GPUs and LLMs: forms, imports, deletion, and what is refused."""

from __future__ import annotations

import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from planner.accounts.models import AuditEntry
from planner.catalog import selectors
from planner.catalog.models import Entry
from planner.web.views import catalog_own
from tests.web.library import check_page, check_write, load_entries, words

pytestmark = pytest.mark.django_db

GPU = {"name": "Card X", "memory_bytes": "96", "memory_bytes_per_s": "4,000", "bf16_flops_per_s": "1.5 PFLOP/s"}
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


@pytest.fixture(autouse=True)
def entries(db):
    load_entries()


def own():
    return Entry.objects.filter(team__isnull=False)


@pytest.fixture
def card(signed_in):
    signed_in("bob").post("/catalog/add/gpu/", {**GPU, "price_usd_per_h": "2.5"})
    return own().get(table="gpus")


@pytest.mark.parametrize("address", ["/catalog/add/gpu/", "/catalog/add/llm/"])
def test_viewers_may_not_add(signed_in, people, address):
    check_write(signed_in, people, address, data=GPU)
    assert signed_in("vera").get(address).status_code == 403
    assert signed_in("bob").get(address).status_code == 200
    assert not own().exists()


def test_a_gpu_is_saved_in_base_units_with_its_price(signed_in, people):
    response = signed_in("bob").post(
        "/catalog/add/gpu/", {**GPU, "price_usd_per_h": "$2.50", "visible_memory_bytes": "88"}
    )
    assert response.url == "/catalog/gpus/card-x/"
    gpu = selectors.catalog(people.team).gpu("card-x")
    assert gpu.figure("memory_bytes") == 96e9
    assert gpu.figure("memory_bytes_per_s") == 4e12
    assert gpu.figure("bf16_flops_per_s") == 1.5e15
    assert gpu.figure("visible_memory_bytes") == 88 * 2**30
    assert selectors.catalog(people.team).price("card-x").usd_per_h == 2.5
    assert AuditEntry.objects.filter(team=people.team, user=people.bob, subject="gpus").exists()
    page = words(signed_in("vera").get("/catalog/gpus/card-x/"))
    assert "$2.50/h" in page
    assert "</svg>given</span>" in page


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"name": ""}, "x-name", "Give it a name"),
        ({"name": "…"}, "x-name", "letter or digit"),
        ({"name": "n" * 150}, "x-name", "longer than"),
        ({"memory_bytes": ""}, "x-memory_bytes", "Needed"),
        ({"memory_bytes": "-80"}, "x-memory_bytes", "above zero"),
        ({"memory_bytes": "nan"}, "x-memory_bytes", "not a finite number"),
        ({"memory_bytes": "1e999"}, "x-memory_bytes", "number"),
        ({"tdp_w": "700 apples"}, "x-tdp_w", "apples"),
        ({"tdp_w": "0"}, "x-tdp_w", "above zero"),
        ({"price_usd_per_h": "-1"}, "x-price_usd_per_h", "above zero"),
        ({"notes": "a\x00b"}, "x-notes", "cannot be printed"),
    ],
)
def test_bad_figures_are_named_and_nothing_is_saved(signed_in, change, field, said):
    response = signed_in("bob").post("/catalog/add/gpu/", {**GPU, **change})
    text = words(response)
    assert response.status_code == 422
    message = text.partition(f'id="{field}">')[2].partition("<")[0]
    assert said in message
    assert not own().exists()
    assert 'value="4,000"' in text  # what was typed stays


def test_a_copy_starts_from_the_figures_of_another(signed_in):
    text = words(signed_in("bob").get("/catalog/add/gpu/", {"from": "h100-sxm"}))
    assert 'name="memory_bytes" value="80"' in text
    assert 'value="H100 SXM, 80 GB, own"' in text
    assert signed_in("bob").get("/catalog/add/gpu/", {"from": "nothing"}).status_code == 404


def test_a_gpu_is_changed_under_its_name(signed_in, people, card):
    client = signed_in("bob")
    form = words(client.get("/catalog/gpus/card-x/edit/"))
    assert 'name="memory_bytes" value="96"' in form
    assert 'name="visible_memory_bytes" value=""' in form  # a guess is left for the team to give
    assert 'name="price_usd_per_h" value="2.5"' in form
    changed = {**GPU, "name": "Another", "memory_bytes": "100", "price_usd_per_h": ""}
    assert client.post("/catalog/gpus/card-x/edit/", changed).url == "/catalog/gpus/card-x/"
    catalog = selectors.catalog(people.team)
    assert catalog.gpu("card-x").figure("memory_bytes") == 100e9
    assert catalog.price("card-x") is None
    assert own().count() == 1


def test_only_the_teams_own_may_be_changed(signed_in, people, card):
    check_write(signed_in, people, "/catalog/gpus/card-x/edit/", data=GPU)
    check_write(signed_in, people, "/catalog/gpus/card-x/delete/")
    for address in ("/catalog/gpus/card-x/edit/", "/catalog/gpus/card-x/delete/"):
        assert signed_in("charlie").get(address).status_code == 404
        assert signed_in("charlie").post(address, GPU).status_code == 404
    for address in ("/catalog/gpus/h100-sxm/edit/", "/catalog/gpus/h100-sxm/delete/", "/catalog/nothing/x/delete/"):
        assert signed_in("alice").post(address, GPU).status_code == 404
    assert own().filter(pk=card.pk).exists()


def test_deleting_asks_first(signed_in, card):
    client = signed_in("bob")
    assert "cannot be brought back" in words(client.get("/catalog/gpus/card-x/delete/"))
    assert own().filter(pk=card.pk).exists()
    assert client.post("/catalog/gpus/card-x/delete/").url == "/catalog/gpus/"
    assert not own().exists()  # its price went with it
    assert client.get("/catalog/gpus/card-x/").status_code == 404


@pytest.mark.parametrize("how", ["file", "pasted"])
def test_an_llm_comes_from_its_config(signed_in, people, how):
    text = json.dumps(CONFIG)
    given = {"file": SimpleUploadedFile("config.json", text.encode())} if how == "file" else {"config": text}
    response = signed_in("bob").post("/catalog/add/llm/", {"name": "Our LLM", **given})
    assert response.url == "/catalog/llms/our-llm/"
    # 2 · 8 KV heads · 128 · 2 B · 32 layers
    assert "131,072 B/token" in words(signed_in("vera").get(response.url))
    assert signed_in("charlie").get(response.url).status_code == 404
    check_page(signed_in, response.url)


def test_an_imported_llm_says_what_was_read_and_what_was_not(signed_in):
    quant = {"quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head", "*self_attn*"]}}
    beside = SimpleUploadedFile("hf_quant_config.json", json.dumps(quant).encode())
    text = json.dumps({**CONFIG, "odd_knob": [1], "time_step_limit": [0.0, float("inf")]})
    given = {"name": "Our LLM", "config": text, "hf_quant_config": beside}
    page = words(signed_in("bob").get(signed_in("bob").post("/catalog/add/llm/", given).url))
    assert "Keys not read: odd_knob." in page
    assert "Published checkpoint, by part (modelopt)" in page
    assert re.search(r"Dense MLPs</th><td[^>]*><b>NVFP4</b>", page)
    assert re.search(r"Layers, by what they keep.*?Attention</th><td[^>]*><b>32</b>", page)


def test_a_broken_quantisation_file_is_refused(signed_in):
    beside = SimpleUploadedFile("hf_quant_config.json", b"{")
    given = {"name": "Our LLM", "config": json.dumps(CONFIG), "hf_quant_config": beside}
    response = signed_in("bob").post("/catalog/add/llm/", given)
    assert response.status_code == 422
    assert "hf_quant_config" in words(response)
    assert not own().exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": ""}, "Choose the file"),
        ({"config": "{"}, "line 1"),
        ({"config": '{\n\n"a": }'}, "line 3"),
        ({"config": '{"a": NaN}'}, "NaN is not a number"),
        ({"config": "[" * 100_000}, "nested too deeply"),
        ({"config": "[]"}, "config"),
        ({"config": json.dumps({**CONFIG, "architectures": ["Mystery"]})}, "“Mystery” is not supported"),
        ({"config": json.dumps({**CONFIG, "hidden_size": "wide"})}, "hidden_size"),
        ({"config": json.dumps({**CONFIG, "num_hidden_layers": -1})}, "num_hidden_layers"),
        ({"file": SimpleUploadedFile("config.json", b"\xff\xfe")}, "UTF-8"),
        ({"file": SimpleUploadedFile("config.json", b" " * (2**20 + 1))}, "larger than 1 MiB"),
    ],
)
def test_a_bad_config_is_refused_with_its_reason(signed_in, given, said):
    response = signed_in("bob").post("/catalog/add/llm/", {"name": "Our LLM", **given})
    assert response.status_code == 422
    message = words(response).partition('id="x-config">')[2].partition("</p>")[0].replace("&quot;", '"')
    assert said in message
    assert not own().exists()


def test_an_llm_needs_a_name(signed_in):
    response = signed_in("bob").post("/catalog/add/llm/", {"name": " ", "config": json.dumps(CONFIG)})
    assert response.status_code == 422
    assert 'id="x-name">Give it a name' in words(response)
    assert "hidden_size" in words(response)  # what was pasted stays


def test_an_llm_can_be_deleted(signed_in, people):
    signed_in("bob").post("/catalog/add/llm/", {"name": "Our LLM", "config": json.dumps(CONFIG)})
    check_write(signed_in, people, "/catalog/llms/our-llm/delete/")
    assert signed_in("bob").post("/catalog/llms/our-llm/delete/").url == "/catalog/llms/"
    assert not own().exists()


def test_the_form_offers_every_figure(signed_in):
    text = words(signed_in("bob").get("/catalog/add/gpu/"))
    for name in catalog_own.services.FIGURE_UNITS:
        assert f'name="{name}"' in text
