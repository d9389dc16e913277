"""Forms of the catalog and of workloads: what was typed, read in the units shown, with a message at each bad field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from planner.catalog.importers import ImportProblem
from planner.catalog.importers.hf_reader import without_infinity
from planner.catalog.models import Entry
from planner.catalog.services import FIGURE_UNITS
from planner.catalog.workload_services import PROFILE_FACTS
from planner.core import quantities
from planner.core.catalog import Catalog
from planner.web.catalog_labels import SHOWN, label_of
from planner.web.catalog_sheet import GPU_FIGURES

NEEDED = ("memory_bytes", "memory_bytes_per_s")
TEXTS = ("name", "vendor", "architecture", "notes", "source")
PRICE, PRICE_UNIT = "price_usd_per_h", "USD/h"
LARGEST_CONFIG_BYTES = 2**20
LONGEST_TEXT = 2000
PROFILE_UNITS = {
    "peak_rps": "requests/s",
    "rate_rps": "requests/s",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "prefix_hit_rate": "%",
    "input_sigma": "",
    "output_sigma": "",
}
PROFILE_BASE = {**PROFILE_UNITS, "prefix_hit_rate": "ratio"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a form: as typed, its unit beside it, and what is wrong with it."""

    name: str
    label: str
    unit: str
    text: str = ""
    error: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """``texts`` and ``numbers`` as typed, ``values`` the numbers in base units; ``problem`` is of no one field."""

    texts: Mapping[str, str]
    numbers: Sequence[Number]
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not (self.errors or self.problem or any(number.error for number in self.numbers))

    @property
    def by_name(self) -> dict[str, Number]:
        return {number.name: number for number in self.numbers}

    def failing(self, problem: ImportProblem) -> Form:
        """The form with a problem at the field it names, above the form where it names none of it."""
        name = PRICE if problem.field == "price" else problem.field
        if name in self.by_name:
            numbers = [replace(each, error=problem.message) if each.name == name else each for each in self.numbers]
            return replace(self, numbers=numbers)
        if name in self.texts:
            return replace(self, errors={**self.errors, name: problem.message})
        return replace(self, problem=str(problem))


def gpu_form(*, gpu: Entry | None = None, catalog: Catalog | None = None, copied: bool = False) -> Form:
    """The form of a new GPU; of one of the team to change; or of a copy of any."""
    payload: Mapping[str, Any] = gpu.payload if gpu else {}
    figures = payload.get("figures", {})
    texts = {name: str(payload.get(name, "")) for name in TEXTS}
    if gpu and copied:
        texts |= {
            "name": _("%(name)s, own") % {"name": gpu.name},
            "source": _("copied from %(name)s") % {"name": gpu.name},
        }
    elif gpu:
        texts["source"] = figures["memory_bytes"]["source"]
    typed = {name: _typed(name, figures=figures) for name in FIGURE_UNITS}
    price = catalog.price(gpu.slug) if gpu and catalog else None
    typed[PRICE] = quantities.full(price.usd_per_h) if price and (copied or price.market == "team") else ""
    return Form(texts=texts, numbers=_gpu_numbers(typed))


def gpu_read(data: Mapping[str, str]) -> Form:
    texts = {name: data.get(name, "")[:LONGEST_TEXT].strip() for name in TEXTS}
    form = _read(Form(texts=texts, numbers=_gpu_numbers(data)), units={**FIGURE_UNITS, PRICE: PRICE_UNIT})
    return form if texts["name"] else replace(form, errors={"name": _("Give it a name.")})


def profile_read(data: Mapping[str, str]) -> Form:
    texts = {name: data.get(name, "")[:LONGEST_TEXT].strip() for name in ("name", "description")}
    form = _read(Form(texts=texts, numbers=profile_numbers(data)), units=PROFILE_BASE)
    if not texts["name"]:
        form = replace(form, errors={"name": _("Give it a name.")})
    if form.ok and not form.values:
        form = replace(form, problem=_("Give at least one figure."))
    return form


def profile_empty() -> Form:
    return Form(texts={"name": "", "description": ""}, numbers=profile_numbers({}))


def profile_numbers(data: Mapping[str, str]) -> list[Number]:
    labels = {
        "peak_rps": _("Peak rate"),
        "rate_rps": _("Mean rate"),
        "input_tokens": _("Input, mean"),
        "output_tokens": _("Output, mean"),
        "prefix_hit_rate": _("Prefix hit rate"),
        "input_sigma": _("Input, spread σ"),
        "output_sigma": _("Output, spread σ"),
    }
    return [Number(name, labels[name], PROFILE_UNITS[name], data.get(name, "")[:60]) for name in PROFILE_FACTS]


def quantised_read(file: UploadedFile[Any] | None) -> Any:
    """The content of a hf_quant_config.json, where one is uploaded beside the config.json; raises `ImportProblem`."""
    try:
        return config_read({}, file=file) if file is not None else None
    except ImportProblem as problem:
        raise ImportProblem(problem.line, "hf_quant_config", problem.message) from None


def config_read(data: Mapping[str, str], *, file: UploadedFile[Any] | None) -> Any:
    """The content of a config.json, uploaded or pasted; raises `ImportProblem`."""
    if file is not None and (file.size or 0) > LARGEST_CONFIG_BYTES:
        raise ImportProblem(None, "config", _("is larger than 1 MiB; a config.json has a few KB"))
    content = file.read() if file is not None else data.get("config", "").encode()
    if len(content) > LARGEST_CONFIG_BYTES:
        raise ImportProblem(None, "config", _("is larger than 1 MiB; a config.json has a few KB"))
    if not content.strip():
        raise ImportProblem(None, "config", _("Choose the file, or paste its content."))
    try:
        return json.loads(without_infinity(content).decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise ImportProblem(None, "config", _("is not UTF-8 text")) from None
    except RecursionError:
        raise ImportProblem(None, "config", _("is nested too deeply")) from None
    except json.JSONDecodeError as error:
        raise ImportProblem(error.lineno, "config", _("is not JSON: %(why)s") % {"why": error.msg}) from None
    except ValueError as error:
        raise ImportProblem(None, "config", _("is not JSON: %(why)s") % {"why": error}) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _gpu_numbers(typed: Mapping[str, str]) -> list[Number]:
    """Every figure in the order of the page, then the price."""
    names = [name for _group, members in GPU_FIGURES for name in members]
    numbers = [
        Number(
            name,
            label_of(name),
            SHOWN.get(name, FIGURE_UNITS[name]),
            typed.get(name, "")[:60],
            needed=name in NEEDED,
        )
        for name in names
    ]
    return [*numbers, Number(PRICE, _("Price of a GPU-hour"), "$/h", typed.get(PRICE, "")[:60])]


def _typed(name: str, *, figures: Mapping[str, Any]) -> str:
    """A stored figure as one would type it; a guess made for the team is left for it to give."""
    found = figures.get(name)
    if not found or found["source"].startswith("estimate:"):
        return ""
    unit = FIGURE_UNITS[name]
    return quantities.full(quantities.convert(found["value"], unit, SHOWN.get(name, unit)))


def _read(form: Form, *, units: Mapping[str, str]) -> Form:
    """The numbers in base units; a message at each that cannot be read."""
    values, numbers = {}, []
    for number in form.numbers:
        error = _("Needed.") if number.needed and not number.text.strip() else ""
        if number.text.strip():
            try:
                values[number.name] = quantities.parse(number.text, units[number.name], number.unit)
            except ValueError as problem:
                error = str(problem)
        numbers.append(replace(number, error=error))
    return replace(form, numbers=numbers, values=values)
