"""Parameters and KV cache, from the architecture of an LLM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.catalog.derived import published_totals
from planner.formulas import attention
from tests.golden.published import KV_BYTES_PER_TOKEN
from tests.validation.rows import Row, gives
from tests.validation.shipped import catalog

KV_SOURCES = {
    "deepseek-v3": ("DeepSeek-V3 technical report, section 2.1.1", "https://arxiv.org/abs/2412.19437"),
}

_ARXIV = re.compile(r"arXiv (\d{4}\.\d{5})")
_CARD = re.compile(r"[Mm]odel card of ([\w.-]+/[\w.-]+)")


def address_of(source: str) -> str:
    """Where a source named in words is found; "" when the words do not say."""
    if found := _ARXIV.search(source):
        return f"https://arxiv.org/abs/{found[1]}"
    if found := _CARD.search(source):
        return f"https://huggingface.co/{found[1]}"
    return ""


@gives("parameters")
def parameters() -> Iterator[Row]:
    """Parameters counted from the architecture against the published total."""
    for found in published_totals(catalog()):
        llm = found["llm"]
        published = catalog().record("llms", llm.slug).payload["published"]["params"]
        words = str(published["source"])
        yield Row(
            quantity="parameters",
            id=llm.slug,
            source=words,
            source_url=address_of(words),
            llm=llm.slug,
            family=llm.family,
            predicted=found["counted"],
            measured=found["published"],
            unit="parameters",
        )


@gives("kv_bytes_per_token")
def kv_bytes_per_token() -> Iterator[Row]:
    """KV bytes per token against the arithmetic of the published architectures."""
    for (slug, tensor_parallel), published in KV_BYTES_PER_TOKEN.items():
        llm = catalog().llm(slug)
        source, address = KV_SOURCES.get(slug, (f"config.json of {llm.name}", ""))
        yield Row(
            quantity="kv_bytes_per_token",
            id=f"{llm.slug}-tp{tensor_parallel}",
            source=source,
            source_url=address,
            llm=llm.slug,
            family=llm.family,
            predicted=attention.kv_bytes_per_token(llm, dtype_bytes=2, tensor_parallel=tensor_parallel),
            measured=published,
            unit="bytes/token",
            conditions=f"bf16, TP {tensor_parallel}",
        )
