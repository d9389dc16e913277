"""What is lost when an instance dies, what retries make of it, and how often a live one is taken for dead."""

from __future__ import annotations

from collections.abc import Iterator

from planner.core.quantities import show
from planner.core.result import Finding
from planner.core.wording import counted, percent
from planner.formulas import detection
from planner.kinds.gateway.failure import attraction
from planner.kinds.gateway.findings_recovery import recovery_findings
from planner.kinds.gateway.plan import Plan
from planner.kinds.gateway.words import failing

DAY_S = 86_400.0
BUSY_IS_DEAD = 0.01
"""Share of probes that wait too long, from which on it is worth a word."""
WORTH_SHARING = 15.0
"""Requests that private counters lose beyond a shared one, from which on it is worth a word."""
BIG_STORM = 3.0


def failure_findings(plan: Plan) -> Iterator[Finding]:
    """From detection to the cold cache."""
    yield from _detection(plan)
    yield from _looks_idle(plan)
    yield from _private(plan)
    yield from _hung(plan)
    yield from _cut(plan)
    yield from _retries(plan)
    yield from _false_ejections(plan)
    yield from recovery_findings(plan)


def _detection(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    probes, errors = found.probes, found.errors
    both = (
        f"Probes each {show(spec.probe_interval_s, 's')} eject a dead instance after {show(probes.mean_s, 's')} on "
        f"average and {show(probes.worst_s, 's')} at most: {show(probes.worst_lost, 'requests')} are sent to it."
    )
    if errors is None:
        return
    told = (
        f" Its errors tell after {show(errors.mean_s, 's')}, the last gateway after {show(errors.worst_s, 's')}: "
        f"{show(errors.worst_lost, 'requests')}."
    )
    if spec.detection == "active" and errors.worst_lost < probes.worst_lost:
        yield Finding(
            code="active_only",
            severity="warning",
            message=both + told.replace(" Its errors tell", " Its errors would tell", 1),
            metric="requests_lost_before_ejection",
            suggestion="Mark an instance at its first errors, and keep the probes for those without traffic.",
            change={"detection": "both"},
        )
        return
    if spec.detection == "passive":
        yield Finding(
            code="passive_only",
            severity="warning",
            message=told.strip() + f" An instance that gets no requests is never found dead; probes find it within "
            f"{show(probes.worst_s, 's')}.",
            metric="requests_lost_passive",
            suggestion="Probe as well.",
            change={"detection": "both"},
        )
        return
    yield Finding(code="detection", severity="info", message=both + told, metric="requests_lost_before_ejection")


def _looks_idle(plan: Plan) -> Iterator[Finding]:
    """A dead instance that refuses has no open requests."""
    spec, found = plan.spec, plan.failure
    drawn = attraction(spec)
    if drawn <= 1 or spec.detection != "active" or found.noticed.mean_lost is None:
        return
    share = "every request" if drawn >= spec.instances else f"{drawn:g} times its share"
    yield Finding(
        code="dead_looks_idle",
        severity="error" if drawn >= spec.instances else "warning",
        message=f"An instance that refuses has no open requests, so {plan.policies.chosen.words} sends it {share} "
        "until "
        f"probes eject it: {show(found.noticed.mean_lost, 'requests')} on average, "
        f"{show(found.probes.mean_lost, 'requests')} "
        "with a policy that does not count.",
        metric="requests_lost",
        suggestion="Mark it at the first error.",
        change={"detection": "both"},
    )


def _private(plan: Plan) -> Iterator[Finding]:
    spec, errors, routers = plan.spec, plan.failure.errors, plan.sizing.replicas
    if spec.detection == "active" or spec.verdicts == "shared" or errors is None or routers < 2:
        return
    shared = detection.passive_shared(
        plan.load.instance_rps,
        failures=spec.passive_failures,
        timeout_s=spec.request_timeout_s if spec.failure_mode == "hangs" else 0.0,
    )
    if shared is None or errors.worst_lost - shared.worst_lost < WORTH_SHARING:
        return
    yield Finding(
        code="private_verdicts",
        severity="warning",
        message=f"Each of {routers:,} gateways waits for {counted(spec.passive_failures, 'error')} of its own: "
        f"{show(errors.worst_lost, 'requests')} are lost and the last one knows after {show(errors.worst_s, 's')}. "
        "With "
        f"one count for all it is {show(shared.worst_lost, 'requests')} and {show(shared.worst_s, 's')}.",
        metric="requests_lost_passive",
        suggestion="Share the verdicts.",
        change={"verdicts": "shared"},
    )


def _hung(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    if spec.failure_mode != "hangs":
        return
    worst = found.noticed.worst_s
    yield Finding(
        code="hangs",
        severity="warning",
        message=f"An instance that hangs gives no error: a request waits {show(spec.request_timeout_s, 's')} before it "
        f"counts as failed, a probe {show(spec.probe_timeout_s, 's')}. It is noticed after {show(worst, 's')}, and "
        "each request sent meanwhile has waited in vain.",
        metric="requests_lost",
        suggestion="Probe with a short timeout; a first byte takes less than the objective when all is well.",
        change={"request_timeout_s": shorter}
        if (shorter := 2 * spec.ttft_p99_slo_s) < spec.request_timeout_s
        else None,
    )


def _cut(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    if found.cut < 1:
        return
    resume, restart = found.resume, found.restart
    lost = show(found.noticed.worst_lost, "requests")
    costs = (
        f"Resumed by the gateway, one is computed on in {show(resume.delay_s, 's')} "
        f"({resume.prefill_tokens:,.0f} tokens of prefill); started again by its client it has caught up after "
        f"{show(restart.delay_s, 's')} and {restart.decode_tokens:,.0f} tokens are written twice."
    )
    yield Finding(
        code="streams_cut",
        severity="warning" if spec.broken_streams == "error" else "info",
        message=f"A dead instance cuts {show(found.cut, 'streams')}, besides {lost} sent to it. A cut stream has "
        "written "
        f"{found.cut_age_tokens:,.0f} tokens: a failure meets long answers more often. {costs}",
        metric="streams_cut",
        suggestion="Resuming needs the token ids, the state of the sampler and the same version of the LLM."
        if spec.broken_streams == "resume"
        else "Let the gateway resume them.",
        change=None if spec.broken_streams == "resume" else {"broken_streams": "resume"},
    )


def _retries(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    if spec.retries == 0:
        if found.lost:
            yield Finding(
                code="no_retries",
                severity="warning",
                message=f"Nothing is tried again: {show(found.lost, 'requests')} fail with each dead instance.",
                metric="requests_failed",
                suggestion="Retry once on another instance, within a budget.",
                change={"retries": 1},
            )
        return
    if spec.idempotency_keys == "off":
        yield Finding(
            code="no_idempotency",
            severity="warning",
            message=f"Without idempotency keys a retry may run beside the first attempt: up to {1 + spec.retries} "
            "answers are computed and paid for, and tools are called twice.",
            metric="retry_amplification",
            suggestion="Send a key with each request, and keep it over retries.",
            change={"idempotency_keys": "on"},
        )
    free = found.retry_factor_free
    if spec.retry_budget is None or found.retry_factor >= BIG_STORM:
        layers = f" in {spec.retry_layers} layers" if spec.retry_layers > 1 else ""
        yield Finding(
            code="retry_storm",
            severity="warning" if found.retry_factor > 1.5 else "info",
            message=f"When all attempts fail, {show(spec.retries, 'retries')}{layers} make "
            f"{found.retry_factor:.3g} attempts of each request, so what is overloaded gets that much more.",
            metric="retry_amplification",
            suggestion="Retry in one layer, within a budget of 20 % of the requests.",
            change={"retry_budget": 0.2, "retry_layers": 1},
        )
        return
    yield Finding(
        code="retry_budget",
        severity="info",
        message=f"Retries stop at {percent(spec.retry_budget)} of the requests: {found.retry_factor:.3g} attempts of "
        f"each when all fail, without the budget {free:.3g}. Of {show(found.noticed.worst_lost, 'requests')} sent to a "
        f"dead instance {failing(found.lost or 0.0)}.",
        metric="retry_amplification",
    )


def _false_ejections(plan: Plan) -> Iterator[Finding]:
    spec, found = plan.spec, plan.failure
    apart = found.false_apart_s
    if spec.detection == "passive":
        return
    late = found.miss - spec.probe_error
    if late > BUSY_IS_DEAD:
        yield Finding(
            code="busy_taken_for_dead",
            severity="error" if late > 0.3 else "warning",
            message=f"Probes wait in the queue of prefills, {percent(late)} of them longer than their timeout of "
            f"{show(spec.probe_timeout_s, 's')}: busy instances are ejected, the load of the others grows, and they "
            f"follow. The cap stops that at {show(found.most_out, 'instances')}.",
            metric="false_ejections_per_day",
            suggestion="Answer probes beside the work.",
            change={"probe_path": "aside"},
        )
        return
    if apart is None or apart > DAY_S:
        return
    enough = detection.failures_against_false_ejection(
        found.miss, interval_s=spec.probe_interval_s, instances=spec.instances, wanted_s=DAY_S
    )
    yield Finding(
        code="false_ejections",
        severity="warning",
        message=f"{percent(found.miss)} of the probes fail by chance, so {counted(spec.probe_failures, 'failure')} in "
        "a "
        f"row take a live instance for dead every {show(apart, 's')}.",
        metric="false_ejections_per_day",
        suggestion=None if enough is None else f"{counted(enough, 'failure')} in a row make that less than one a day.",
        change=None if enough is None or enough <= spec.probe_failures else {"probe_failures": enough},
    )
