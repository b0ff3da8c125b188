"""Where the fault is: its class, the first layer and state, the smallest case, the script."""

from collections.abc import Iterator

from rich.console import RenderableType

from linattn_verify.checks.localised import Localised, Smallest
from linattn_verify.reports.document import Report
from linattn_verify.reports.ink import Ink, indented


def localised_section(report: Report, ink: Ink) -> Iterator[RenderableType]:
    """What was found of the fault; nothing where nobody has looked."""
    if report.localised is not None:
        yield from localised_lines(report.localised, ink)


def localised_lines(found: Localised, ink: Ink) -> Iterator[RenderableType]:
    """The same, of what was found, with the other scenarios that fail."""
    yield ink.heading("Where the fault is")
    yield ink.text(f"{found.fault_class} ({found.scenario} against {found.reference})", "bold")
    yield indented(ink.text(found.because), 2)
    yield indented(ink.text(_smallest(found.smallest)), 2)
    if found.repro:
        yield indented(ink.text(_script(found)), 2)
    for other in found.others:
        if other.scenario != found.scenario:
            yield indented(ink.text(f"Also {other.scenario}: {other.fault_class}", "dim"), 2)


def _smallest(found: Smallest) -> str:
    if found.reproduced is None:
        return "Smallest case: there was no time to look for one."
    if not found.reproduced:
        return (
            "Smallest case: none. Served by itself the scenario passes, so what was served before "
            "it in its engine plays a part."
        )
    tokens = ", ".join(map(str, found.prompt_tokens))
    prompts = "a prompt" if len(found.prompts) == 1 else f"{len(found.prompts)} prompts"
    said = f"Smallest case: {prompts} of {tokens} tokens ({', '.join(found.prompts)})"
    if found.largest_budget is not None:
        said += f" in steps of {found.budget}"
    said += {True: "; one request alone fails", False: "; only a batch fails", None: ""}[
        found.alone
    ]
    if found.largest_budget is not None:
        above = f", {found.passing_budget} passes" if found.passing_budget else ""
        said += f"; largest failing step {found.largest_budget} tokens{above}"
    if found.first_edge is not None:
        said += f"; first bad edge after {found.first_edge} tokens"
    said += f". {found.trials} cases tried"
    return said + ("." if found.finished else ", then time was up.")


def _script(found: Localised) -> str:
    if found.by_output:
        return f"Script for plain vLLM, without this tool: {found.repro}"
    return (
        f"Script for plain vLLM: {found.repro}. It compares log-probabilities; here states alone "
        "are wrong beyond the limits, so it may show nothing."
    )
