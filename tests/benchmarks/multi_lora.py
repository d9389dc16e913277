"""Many adapters: a thousand of them on eight replicas of 102 slots each, batches of some hundred sequences."""

from __future__ import annotations

from sims.parts.arrivals import Lengths, Poisson
from sims.systems.multi_lora import AdapterRequests, Config, Popularity, simulate

REFERENCE = Config(
    replicas=8,
    adapters=1000,
    slots=102,
    host_adapters=1000,
    step_s=0.006,
    step_s_per_sequence=2e-5,
    step_s_per_kv_token=5e-8,
    prefill_s_per_token=1 / 40_000,
    prefill_budget_tokens=2048,
    kv_capacity_tokens=450_000,
    max_running=256,
    lora_step_s=0.0007,
    lora_s_per_adapter=3e-5,
    adapter_bytes=83_886_080,
    swap_bytes_per_s=25e9,
    swap_fixed_s=0.009,
    store_first_byte_s=0.15,
    store_bytes_per_s=700e6,
)
LENGTHS = Lengths(input_tokens=500, output_tokens=250, input_sigma=0.7, output_sigma=0.7)


def fleet() -> float:
    """200,000 requests, Zipf's popularity with exponent 0.9, some hundred sequences a batch."""
    source = AdapterRequests(Poisson(200.0, LENGTHS, requests=200_000), Popularity.zipf(1000, exponent=0.9))
    found = simulate(REFERENCE, source=source, warmup_s=100.0)
    assert found.counts["finished"] == found.counts["arrived"]
    assert found.mean("running") > 64
    return float(found.counts["arrived"])
