"""From a run's evidence to its report: judged, with what it was run on."""

import platform

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.proofs import prove
from linattn_verify.checks.registry import CheckSpec, run_checks
from linattn_verify.checks.sensitivity import held_to, sensitivity
from linattn_verify.cli.pipeline import Pipeline, engine_environment
from linattn_verify.configs.request import Request
from linattn_verify.engine.messages import EngineFacts, ModelFacts, Prepared
from linattn_verify.reports.build import build_report
from linattn_verify.reports.document import (
    Cpu,
    Environment,
    Model,
    Prompt,
    Report,
    TaskAsked,
    Workload,
)


def assemble(
    request: Request,
    specs: tuple[CheckSpec, ...],
    prepared: Prepared,
    evidence: Evidence,
    pipeline: Pipeline,
    digest: str | None,
    tasks: tuple[TaskAsked, ...],
) -> Report:
    """Judge the evidence and say what it is evidence of."""
    proven = Evidence(**{**vars(evidence), "proofs": prove(evidence)})
    answers = run_checks(specs, proven)
    shown = sensitivity(specs, proven, answers)
    lengths = [len(ids) for ids in prepared.token_ids]
    named = zip(evidence.prompt_names, lengths, strict=True)
    return build_report(
        evidence=proven,
        results=held_to(answers, shown),
        sensitivity=shown,
        model=_model(request, prepared.model, pipeline.facts, digest),
        workload=Workload(
            source=str(request.prompts or "embedded"),
            prompts=tuple(Prompt(id=name, tokens=n) for name, n in named),
            decode_tokens=request.profile.decode_tokens,
            tasks=tasks,
        ),
        environment=_environment(pipeline),
        run_folder=pipeline.folder.path,
        phases=pipeline.display.phases,
        notes=_notes(request, evidence),
    )


def _model(
    request: Request, model: ModelFacts, facts: EngineFacts | None, digest: str | None
) -> Model:
    return Model(
        name=request.model,
        path=model.path or model.name,
        revision=model.revision,
        architecture=model.architecture,
        dtype=facts.dtype if facts else request.dtype,
        linear_attention=facts.linear_attention if facts else None,
        layers=facts.layers if facts else {},
        vocab_size=model.vocab_size,
        weights_digest=digest,
    )


def _environment(pipeline: Pipeline) -> Environment:
    facts = pipeline.facts
    cpu = facts.cpu if facts else {}
    return Environment(
        versions=facts.versions if facts else {"python": platform.python_version()},
        cpu=Cpu(
            model=cpu.get("model", platform.processor() or platform.machine()),
            features=tuple(cpu.get("features", ())),
            threads=cpu.get("torch_threads", 0),
        ),
        platform=platform.platform(),
        kernel_path=facts.kernel_path if facts else (),
        variables=engine_environment(pipeline.model),
    )


def _notes(request: Request, evidence: Evidence) -> list[str]:
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
