"""Options of a run about the engines: their scheduler and KV pool, drafts, and units that are slower than the rest."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.simulation import OptionDef
from planner.core.text import gettext_noop as _
from planner.kinds.llm_serving.spec import LlmServingSpec

GROUP = _("Engine")
KV_HEADROOM_TOKENS = 64
"""Left for each sequence when a decode rank admits by tokens in use, as engines do and as the estimate counts KV.
Where KV binds, reserving whole answers would serve 5 to 7 % less, and no air at all would send one request in eight
back to prefill; see METHOD.md."""

OPTIONS = (
    OptionDef(
        "kv_tokens",
        _("KV pool of a unit"),
        None,
        unit="tokens",
        minimum=1,
        maximum=1e12,
        whole=True,
        group=GROUP,
        help=_("Of a decode unit or replica, all ranks together, as the engine printed it at its start. Empty: ours."),
    ),
    OptionDef(
        "max_running",
        _("Most running requests"),
        None,
        unit=_("a rank"),
        minimum=1,
        maximum=1e9,
        whole=True,
        group=GROUP,
        help=_("Of replicas: filling or decoding (max_num_seqs). Empty: as many as a step has tokens for."),
    ),
    OptionDef(
        "block_tokens",
        _("KV blocks"),
        16,
        unit="tokens",
        minimum=1,
        maximum=65_536,
        whole=True,
        group=GROUP,
        help=_("Of replicas: KV is taken block by block."),
    ),
    OptionDef(
        "reserve_full_prompt",
        _("A prompt is let in with room for"),
        "yes",
        choices=("yes", "no"),
        choice_labels=(_("the whole prompt"), _("its first chunk")),
        group=GROUP,
        help=_("Of replicas: with room for a chunk alone prompts start earlier, and more are computed twice."),
    ),
    OptionDef(
        "kv_admission",
        _("An answer is let in with room for"),
        "retract",
        choices=("retract", "reserve"),
        choice_labels=(_("its next tokens; the last goes back to prefill when KV is full"), _("the whole answer")),
        group=GROUP,
        help=_("Of decode units."),
    ),
    OptionDef(
        "kv_headroom_tokens",
        _("Next tokens"),
        KV_HEADROOM_TOKENS,
        unit=_("tokens/answer"),
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=GROUP,
        only_with=("kv_admission", ("retract",)),
    ),
    OptionDef(
        "drafts",
        _("Accepted drafts (MTP)"),
        "mean",
        choices=("mean", "drawn"),
        choice_labels=(_("make each token a little faster"), _("come by chance, several tokens at once")),
        group=GROUP,
        help=_("TPOT is the same on average; gaps between tokens are not. The estimate takes the mean."),
    ),
    OptionDef(
        "odd_units",
        _("Slower units"),
        None,
        minimum=1,
        maximum=1_000_000,
        whole=True,
        group=GROUP,
        help=_("So many decode units or replicas run at another speed, with the same KV pool. Empty: none."),
    ),
    OptionDef(
        "odd_speed",
        _("Their speed"),
        0.5,
        unit=_("of that of the others"),
        minimum=0.01,
        maximum=100.0,
        group=GROUP,
        only_with=("odd_units", ()),
    ),
)

_OF_REPLICAS: tuple[str, ...] = ("max_running", "block_tokens", "reserve_full_prompt")
_OF_DECODE_UNITS = ("kv_admission",)


@dataclass(frozen=True)
class EngineOptions:
    """These options with their defaults filled in."""

    kv_tokens: float | None = None
    max_running: float | None = None
    block_tokens: float = 16
    reserve_full_prompt: str = "yes"
    kv_admission: str = "retract"
    kv_headroom_tokens: float = KV_HEADROOM_TOKENS
    drafts: str = "mean"
    odd_units: float | None = None
    odd_speed: float = 0.5


def check(spec: LlmServingSpec, *, chosen: EngineOptions) -> None:
    """Refuse what the topology does not have; raises ValueError that names the option."""
    foreign, why = _OF_REPLICAS, "only replicas, which do prefill and decode, have such a scheduler here"
    if spec.is_aggregated:
        foreign, why = _OF_DECODE_UNITS, "a replica takes KV block by block"
    usual = EngineOptions()
    for name in foreign:
        if getattr(chosen, name) != getattr(usual, name):
            raise ValueError(f"options.{name}: {why}")
