"""The model, the environment, the cost, and where the evidence lies."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from linattn_verify.reports.document import Model, Phase, Report, Workload
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.json_report import REPORT, SCHEMA
from linattn_verify.reports.numbers import duration

TEXT = "report.txt"
"""The full page, in the run's folder."""
_DIGEST = 12
_ONE_COLUMN = 5


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
    return {
        "model": model.name,
        "path": "" if model.path == model.name else model.path,
        "revision": model.revision or "none",
        "architecture": model.architecture,
        "layers": _layers(model),
        "dtype": model.dtype,
        "vocabulary": "" if model.vocab_size is None else f"{model.vocab_size:,}",
        "parameters": "" if model.parameters is None else f"{model.parameters:,}",
        "weights digest": model.weights_digest or "not taken",
    }


def _layers(model: Model) -> str:
    layers = ", ".join(f"{count} {kind}" for kind, count in model.layers.items())
    return layers + (" (no linear attention)" if model.linear_attention is False else "")


def _workload(workload: Workload) -> dict[str, str]:
    prompts = ", ".join(f"{p.id} {p.tokens:,}" for p in workload.prompts)
    total = sum(p.tokens for p in workload.prompts)
    return {
        "workload": workload.source,
        "prompts": f"{len(workload.prompts)} prompts, {total:,} tokens: {prompts}",
        "decoded": f"{workload.decode_tokens} tokens after each prompt",
        "tasks": _tasks(workload),
    }


def environment_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The same facts, several on a line."""
    yield ink.heading("Model, workload and environment")
    environment, cpu = report.environment, report.environment.cpu
    facts = {
        **_model_in_short(report.model),
        "workload": _workload_in_short(report.workload),
        "tasks": _tasks(report.workload),
        "versions": _joined(f"{name} {version}" for name, version in environment.versions.items()),
        "CPU": _joined(
            (cpu.model, f"{cpu.threads} threads", " ".join(cpu.features), environment.platform)
        ),
        "kernel path": "; ".join(environment.kernel_path),
        "variables": _joined(f"{name}={value}" for name, value in environment.variables.items()),
    }
    yield _facts(facts, ink)


def _model_in_short(model: Model) -> dict[str, str]:
    vocabulary = "" if model.vocab_size is None else f"vocabulary {model.vocab_size:,}"
    parameters = "" if model.parameters is None else f"{model.parameters:,} parameters"
    algorithm, colon, digest = (model.weights_digest or "").rpartition(":")
    short = digest[:_DIGEST] + ("…" if len(digest) > _DIGEST else "")
    taken = f"{algorithm}{colon}{short}" if digest else "not taken"
    return {
        "model": model.name,
        "path": "" if model.path == model.name else model.path,
        "kind": _joined((model.architecture, _layers(model), model.dtype, vocabulary, parameters)),
        "revision": f"{model.revision or 'none'} · weights digest {taken}",
    }


def _tasks(workload: Workload) -> str:
    return "; ".join(
        f"{task.name}: {task.requests:,} requests, {task.tokens:,} tokens, "
        f"{task.num_fewshot} shots, answers up to {task.max_gen_toks:,} tokens, "
        f"{'chat template' if task.chat_template else 'no chat template'}"
        f"{', thinking' if task.thinking else ''}, data: {task.data}"
        for task in workload.tasks
    )


def _workload_in_short(workload: Workload) -> str:
    lengths = [prompt.tokens for prompt in workload.prompts]
    span = f" of {min(lengths):,} to {max(lengths):,} tokens" if lengths else ""
    return (
        f"{workload.source}: {len(lengths)} prompts{span}, {sum(lengths):,} in all; "
        f"{workload.decode_tokens} decoded after each"
    )


def _joined(parts: Iterable[str]) -> str:
    return " · ".join(part for part in parts if part)


def cost_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where the time went."""
    if not report.phases:
        return
    yield ink.heading("Cost by phase")
    total = sum(phase.seconds for phase in report.phases)
    table = ink.table("Phase", "Time", "Share", right=("Time", "Share"))
    for phase in _phases(report):
        share = f"{phase.seconds / total:.0%}" if total else ""
        table.add_row(ink.text(phase.name), Text(duration(phase.seconds)), Text(share))
    table.add_row(Text("total", style="bold"), Text(duration(total), style="bold"), Text(""))
    yield table


def cost_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """The same in half the lines: two phases a row where there are many."""
    if not report.phases:
        return
    total = sum(phase.seconds for phase in report.phases)
    yield ink.heading(f"Cost by phase: {duration(total)} in total")
    cells = [(ink.text(p.name), Text(duration(p.seconds))) for p in _phases(report)]
    rows = len(cells) if len(cells) <= _ONE_COLUMN else (len(cells) + 1) // 2
    table = ink.table(*[""] * (2 * (1 + (len(cells) > rows))))
    for column in table.columns[1::2]:
        column.justify = "right"
        column.no_wrap = True
    for row in range(rows):
        pairs = cells[row::rows]
        table.add_row(*(cell for pair in pairs for cell in pair))
    yield table


def _phases(report: Report) -> list[Phase]:
    """The phases, all mutations as one."""
    names = {mutation.name for mutation in report.mutations}
    of_mutations = [phase.seconds for phase in report.phases if phase.name in names]
    phases = [phase for phase in report.phases if phase.name not in names]
    if of_mutations:
        count = len(of_mutations)
        name = f"{count} mutation{'' if count == 1 else 's'}: states lost on purpose"
        phases.append(Phase(name=name, seconds=sum(of_mutations)))
    return phases


def evidence_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where everything lies that the report rests on."""
    yield ink.heading("Evidence")
    facts = {
        "run folder": report.run_folder,
        "report": f"{REPORT}, its schema {SCHEMA}",
        "written": report.created.isoformat(sep=" ", timespec="seconds"),
    }
    yield _facts(facts, ink)


def evidence_summary(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """Where to read on."""
    yield ink.heading("Evidence")
    created = report.created.isoformat(sep=" ", timespec="seconds")
    yield ink.text(f"every segment: {TEXT}; everything: {REPORT} in {report.run_folder}")
    yield ink.text(f"schema: {SCHEMA}; written {created}", "dim")


def _facts(facts: dict[str, str], ink: Ink) -> RenderableType:
    table = ink.table("", "")
    for name, value in facts.items():
        if value:
            table.add_row(ink.text(name, "bold"), ink.text(value))
    return table
