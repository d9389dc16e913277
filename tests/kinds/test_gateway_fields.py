"""Every field of a gateway changes the answer or is named as one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.kinds import get
from tests.kinds.fields import Fields

CONTEXTS: dict[str, dict[str, Any]] = {
    "reference": {},
    "round robin": {"policy": "round_robin"},
    "least requests": {"policy": "least_requests", "output_tokens": 20.0},
    "hash of prefixes": {"policy": "bounded_hash"},
    "hash of sessions": {"policy": "bounded_hash", "hash_key": "session"},
    "longest prefix": {"policy": "prefix_aware", "peak_rps": 500.0},
    "index in process": {"index_place": "in_process", "index_own": "off"},
    "approximate index": {"index_place": "approximate"},
    "probes alone, queued": {"detection": "active", "probe_path": "queued"},
    "errors alone": {"detection": "passive"},
    "hangs": {"failure_mode": "hangs"},
    "no breaker, no retries": {"half_open": "off", "retries": 0},
    "no TLS, external": {"tls": "none", "processing": "external"},
    "no load": {"peak_rps": 0.0},
    "no reuse": {"prefix_groups": 0, "turns": 1.0},
    "one instance": {"instances": 1},
    "canary by request": {"canary_by": "request"},
    "instances in the bill": {"instance_usd_per_h": 16.0, "egress_usd_per_gb": 0.05},
    "no overload": {"overload_factor": 0.0},
}
SETTINGS: dict[str, list[Any]] = {
    "peak_rps": [100.0, 9000.0],
    "input_tokens": [2200.0, 8000.0],
    "input_sigma": [0.0, 1.0],
    "output_tokens": [100.0, 600.0],
    "output_sigma": [0.2, 1.5],
    "ttft_s": [0.1, 2.0],
    "tpot_s": [0.01, 0.05],
    "ttft_p99_slo_s": [0.01, 8.0],
    "prefix_groups": [50, 20_000],
    "prefix_exponent": [0.3, 1.5],
    "prefix_tokens": [512.0, 1024.0],
    "turns": [2.0, 9.0],
    "gap_s": [5.0, 300.0],
    "gap_sigma": [0.3, 2.0, None],
    "instances": [150, 400],
    "kv_tokens_per_instance": [200_000, 9_000_000],
    "prefill_tokens_per_s": [60_000.0, 300_000.0],
    "decode_tokens_per_s": [30_000.0, 90_000.0],
    "block_tokens": [16, 256],
    "index_bytes_per_node": [31.0, 27_000.0],
    "index_place": ["in_process", "approximate", "service"],
    "index_hop_s": [0.0, 0.01],
    "event_lag_s": [0.0, 5.0],
    "index_own": ["off", "on"],
    "index_updates_per_s": [1e5, 1e8],
    "policy": ["random", "round_robin", "bounded_hash", "cost_based"],
    "hash_key": ["session", "prefix"],
    "load_bound": [1.05, 3.0],
    "hot_prefix_cap": [None, 0.5, 5.0],
    "view_interval_s": [0.0, 2.0],
    "own_dispatches": ["not_counted"],
    "gateway_replicas": [2, 40],
    "spare_replicas": [0, 3],
    "cores_per_replica": [2, 64],
    "memory_per_replica_bytes": [4e9, 256e9],
    "nic_bytes_per_s": [1e8, 1.25e10],
    "file_descriptors": [20_000, 1_048_576],
    "usable_share": [0.3, 0.9],
    "reconnect_s": [1.0, 60.0],
    "requests_in_flight_cap": [1024],
    "processing": ["external", "proxy"],
    "request_cpu_s": [1e-5, 1e-3],
    "prompt_token_cpu_s": [1e-8, 1e-6],
    "event_cpu_s": [1e-6, 2e-5],
    "decision_cpu_s": [1e-6, 1e-4],
    "tokens_per_event": [2.0, 8.0],
    "bytes_per_event": [100.0, 1000.0],
    "encrypted_bytes_per_core_s": [5.75e8, 5e9],
    "tls": ["both", "none", "client"],
    "requests_per_connection": [5.0, 50.0],
    "resumed_share": [0.0, 1.0],
    "full_handshakes_per_core": [1300.0, 4000.0],
    "resumed_handshakes_per_core": [5000.0, 20_000.0],
    "connection_bytes": [20e3, 1e6],
    "replica_usd_per_h": [0.3, 2.0],
    "instance_usd_per_h": [16.0, 30.0],
    "egress_usd_per_gb": [0.01, 0.09],
    "probe_interval_s": [0.2, 5.0],
    "probe_failures": [1, 5],
    "probe_timeout_s": [0.02, 3.0],
    "probe_path": ["queued", "aside"],
    "probe_error": [0.0, 0.2],
    "detection": ["active", "passive", "both"],
    "passive_failures": [3, 5],
    "verdicts": ["shared"],
    "failure_mode": ["hangs", "refuses"],
    "request_timeout_s": [2.0, 60.0],
    "half_open": ["off", "on"],
    "half_open_trials": [5],
    "ejection_s": [5.0, 120.0],
    "ejection_cap": [0.3, 0.9],
    "instance_failures_per_h": [1e-4, 1e-2],
    "outage_s": [30.0, 3000.0],
    "instances_lost": [2, 20],
    "retries": [0, 3],
    "retry_budget": [None, 0.05],
    "retry_layers": [2, 3],
    "idempotency_keys": ["off"],
    "broken_streams": ["error", "resume"],
    "canary_weight": [0.01, 0.4],
    "canary_by": ["request", "session"],
    "base_error_rate": [1e-4, 1.5e-3],
    "canary_error_rate": [0.0015, 0.02],
    "latency_quantile": [0.5, 0.9],
    "latency_regression": [0.05, 0.5],
    "latency_sigma": [0.3, 1.5],
    "false_alarm": [0.01, 0.1],
    "power": [0.6, 0.95],
    "overload_factor": [0.8, 3.0],
    "queue_limit": [5, 400],
    "urgent_share": [0.3, 0.9],
}


FIELDS = Fields(get("gateway"), SETTINGS)


def test_all_fields_are_asked_for() -> None:
    assert FIELDS.all_are_asked_for()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_field_changes_the_answer_or_is_named(context: str) -> None:
    base = CONTEXTS[context]
    # One instance cannot be twenty lost ones.
    lost = [("instances_lost", count) for count in SETTINGS["instances_lost"] if count > base.get("instances", 200)]
    assert FIELDS.unfelt(base, unfit=lost) == []
