"""From a recorded run to its report: judged, with what it was run on."""

from dataclasses import replace

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.proofs import prove
from linattn_verify.checks.registry import CheckSpec, run_checks
from linattn_verify.checks.sensitivity import held_to, sensitivity
from linattn_verify.cli.needs import with_kernels
from linattn_verify.cli.record import Planned, Record
from linattn_verify.cli.recorded import Recorded
from linattn_verify.configs.profile import Profile
from linattn_verify.configs.rejudging import judged_by
from linattn_verify.configs.request import Request
from linattn_verify.engine.messages import EngineFacts
from linattn_verify.reports.build import build_report
from linattn_verify.reports.document import Cpu, Environment, Model, Report, Workload


def assemble(run: Recorded, specs: tuple[CheckSpec, ...], profile: Profile | None = None) -> Report:
    """Judge the evidence, by the limits of `profile` where one is given, and say what it is
    evidence of."""
    own = run.record.request.profile
    evidence = replace(
        run.evidence,
        profile=judged_by(own, profile) if profile else own,
        kernels=run.evidence.kernels if with_kernels(specs) else None,
    )
    proven = replace(evidence, proofs=prove(evidence))
    answers = run_checks(specs, proven)
    shown = sensitivity(specs, proven, answers)
    request = run.record.request
    return build_report(
        evidence=proven,
        results=held_to(answers, shown),
        sensitivity=shown,
        model=_model(run.record, run.planned, run.facts),
        workload=Workload(
            source=str(request.prompts or "embedded"),
            prompts=run.planned.prompts,
            decode_tokens=request.profile.decode_tokens,
            tasks=run.planned.tasks,
        ),
        environment=_environment(run.record.environment, run.facts),
        run_folder=run.path,
        phases=run.record.phases,
        notes=[*_judging(run, profile), *_injected(request, evidence)],
        created=run.record.finished,
    )


def _model(record: Record, planned: Planned, facts: EngineFacts | None) -> Model:
    model = planned.model
    return Model(
        name=record.request.model,
        path=model.path or model.name,
        revision=model.revision,
        architecture=model.architecture,
        dtype=facts.dtype if facts else record.request.dtype,
        linear_attention=facts.linear_attention if facts else None,
        layers=facts.layers if facts else {},
        vocab_size=model.vocab_size,
        weights_digest=record.weights_digest,
    )


def _environment(known: Environment, facts: EngineFacts | None) -> Environment:
    """What was known without an engine, and what the engine adds to it."""
    if facts is None:
        return known
    cpu = Cpu(
        model=facts.cpu.get("model", known.cpu.model),
        features=tuple(facts.cpu.get("features", ())),
        threads=facts.cpu.get("torch_threads", 0),
    )
    update = {"versions": facts.versions, "cpu": cpu, "kernel_path": facts.kernel_path}
    return known.model_copy(update=update)


def _judging(run: Recorded, profile: Profile | None) -> list[str]:
    """What the reader has to know of how it came to be judged."""
    own = run.record.request.profile
    notes = []
    if run.record.finished is None:
        planned = run.evidence.judged()
        every, ended = len(planned), sum(s.name in run.evidence.outcomes for s in planned)
        notes.append(
            f"The run was interrupted, or is under way: {ended} of {every} scenarios have ended."
        )
    if profile and profile != own:
        notes.append(f"Measured with profile {own.name}, judged by the limits of {profile.name}.")
    return notes


def _injected(request: Request, evidence: Evidence) -> list[str]:
    fired: dict[str, list[str]] = {}
    planned = (s.name for s in evidence.judged() if s.name in evidence.traces)
    for name in planned:
        for fault, count in evidence.traces[name].record.faults.items():
            fired.setdefault(fault, []).append(f"{name} ({count:,} times)")
    injected = [
        f"Fault injected on purpose: {fault} in {', '.join(where)}."
        for fault, where in fired.items()
    ]
    crashed = [
        f"Fault injected on purpose in {name}: {', '.join(faults)}; the scenario left no trace."
        for name, faults in request.inject.items()
        if name not in evidence.traces
    ]
    return [*injected, *crashed]
