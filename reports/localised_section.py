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
    """The same, of what was found."""
    yield ink.heading("Where the fault is")
    yield ink.text(localised_title(found), "bold")
    for line in localised_sentences(found):
        yield indented(ink.text(line), 2)


def localised_title(found: Localised) -> str:
    """The class of the fault, and what shows it."""
    return f"{found.fault_class} ({found.scenario} against {found.reference})"


def localised_sentences(found: Localised) -> Iterator[str]:
    """What the class rests on, the smallest case, the script, other scenarios that fail."""
    yield found.because
    yield _smallest(found.smallest)
    if found.repro:
        yield _script(found)
    for other in found.others:
        if other.scenario != found.scenario:
            yield f"Also {other.scenario}: {other.fault_class}"


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
