"""The model, the environment, the cost, and where the evidence lies."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.reports.document import Model, Report, Workload
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.json_report import REPORT, SCHEMA
from linattn_verify.reports.numbers import duration


def environment_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Everything that a repetition of the run has to have alike."""
    yield ink.heading("Model and workload")
    profile = {"profile": f"{report.profile.name}: {report.profile.description}"}
    yield _facts({**_model(report.model), **_workload(report.workload), **profile}, ink)
    environment = report.environment
    yield ink.heading("Environment")
    facts = dict(environment.versions)
    facts["CPU"] = f"{environment.cpu.model}, {environment.cpu.threads} threads"
    facts["CPU features"] = ", ".join(environment.cpu.features)
    facts["kernel path"] = "\n".join(environment.kernel_path)
    facts["platform"] = environment.platform
    facts.update(environment.variables)
    yield _facts(facts, ink)


def _model(model: Model) -> dict[str, str]:
    layers = ", ".join(f"{count} {kind}" for kind, count in model.layers.items())
    return {
        "model": model.name,
        "path": model.path,
        "revision": model.revision or "none",
        "architecture": model.architecture,
        "layers": layers + ("" if model.linear_attention else " (no linear attention)"),
        "dtype": model.dtype,
        "vocabulary": "" if model.vocab_size is None else f"{model.vocab_size:,}",
        "parameters": "" if model.parameters is None else f"{model.parameters:,}",
        "weights digest": model.weights_digest or "not taken",
    }


def _workload(workload: Workload) -> dict[str, str]:
    prompts = ", ".join(f"{p.id} {p.tokens:,}" for p in workload.prompts)
    total = sum(p.tokens for p in workload.prompts)
    return {
        "workload": workload.source,
        "prompts": f"{len(workload.prompts)} prompts, {total:,} tokens: {prompts}",
        "decoded": f"{workload.decode_tokens} tokens after each prompt",
    }


def cost_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where the time went."""
    if not report.phases:
        return
    yield ink.heading("Cost by phase")
    total = sum(phase.seconds for phase in report.phases)
    table = ink.table("Phase", "Time", "Share", right=("Time", "Share"))
    for phase in report.phases:
        share = f"{phase.seconds / total:.0%}" if total else ""
        table.add_row(ink.text(phase.name), Text(duration(phase.seconds)), Text(share))
    table.add_row(Text("total", style="bold"), Text(duration(total), style="bold"), Text(""))
    yield table


def evidence_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where everything lies that the report rests on."""
    yield ink.heading("Evidence")
    facts = {
        "run folder": report.run_folder,
        "report": f"{REPORT}, its schema {SCHEMA}",
        "written": report.created.isoformat(sep=" ", timespec="seconds"),
    }
    yield _facts(facts, ink)


def _facts(facts: dict[str, str], ink: Ink) -> RenderableType:
    table = ink.table("", "")
    for name, value in facts.items():
        if value:
            table.add_row(ink.text(name, "bold"), ink.text(value))
    return table
