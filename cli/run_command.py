"""`linattn-verify run`: from options to a report and an exit code."""

import signal
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from linattn_verify.checks.evidence import Evidence
from linattn_verify.checks.registry import CheckSpec, checks_named
from linattn_verify.checks.result import Verdict
from linattn_verify.cli.assembly import assemble
from linattn_verify.cli.commands import Work
from linattn_verify.cli.exports import Exports, tell_github
from linattn_verify.cli.folder import RunFolder, check_writable, open_run_folder
from linattn_verify.cli.kernels_command import TIMEOUT, start
from linattn_verify.cli.localise import localise
from linattn_verify.cli.model import (
    check_engine_is_installed,
    check_model,
    weights_digest,
)
from linattn_verify.cli.needs import check_tasks, kinds, needs, with_kernels, with_tasks
from linattn_verify.cli.pipeline import Pipeline
from linattn_verify.cli.printer import Printer
from linattn_verify.cli.progress import Display
from linattn_verify.cli.suspect import Suspect
from linattn_verify.cli.tasks import Loaded, Tasks, load
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.kernels import CHECK
from linattn_verify.configs.plan import Need, Plan
from linattn_verify.configs.planning import build_plan
from linattn_verify.configs.profile import load_profile
from linattn_verify.configs.request import (
    Request,
    overridden,
    parse_budgets,
    parse_engine_args,
    parse_inject,
)
from linattn_verify.configs.strict import validated
from linattn_verify.engine.kernel_messages import KernelsRequest
from linattn_verify.engine.messages import Prepare, Prepared
from linattn_verify.reports.document import Report
from linattn_verify.reports.json_report import to_json, write_json
from linattn_verify.reports.terminal import render, render_text
from linattn_verify.traces.files import write_whole
from linattn_verify.traces.kernels import KernelEvidence, read_kernels, write_kernels
from linattn_verify.workloads import prompts as workload
from linattn_verify.workloads.embedded import EMBEDDED


def run_command(options: dict[str, Any]) -> int:
    """Carry out the command; returns its exit code. Raises UsageError for a bad request."""
    json_to: str | None = options.pop("json_to")
    out, force = options.pop("out"), options.pop("force")
    exports = Exports.taken(options)
    request = request_from(options)
    specs = checks_named(request.only, request.skip)
    if all(Need.KERNELS in spec.needs for spec in specs):
        raise UsageError(
            f"--only {CHECK}: a run serves a model, and this check needs none. "
            f"`linattn-verify {CHECK}` runs it alone."
        )
    prompts = (
        workload.read_prompts(request.prompts) if request.prompts else workload.embedded_prompts()
    )
    check_engine_is_installed()
    if request.model not in EMBEDDED:
        check_model(request.model)
    elif request.revision is not None:
        raise UsageError("--revision: needs --model; the embedded models have no revisions.")
    check_tasks(request, specs)
    if json_to and json_to != "-":
        check_writable(Path(json_to), "--json")
    # Where the JSON goes to standard output, nothing else may.
    console = Printer(stderr=json_to == "-")
    embedded = EMBEDDED.get(request.model)
    model = str(embedded() if embedded else Path(request.model).expanduser())
    folder = open_run_folder(out, request.model, force)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        report = _run(request, specs, prompts, model, folder, console)
    except KeyboardInterrupt:
        # Its text is what the user is told (`linattn_verify.cli.main.entry`).
        raise KeyboardInterrupt(folder.left()) from None
    render(report, console)
    if json_to == "-":
        sys.stdout.write(to_json(report) + "\n")
    elif json_to:
        write_whole(Path(json_to), to_json(report))
    exports.write(report)
    tell_github(report)
    return report.exit_code


def request_from(options: dict[str, Any]) -> Request:
    """The request that the command's options make."""
    profile = overridden(
        load_profile(options.pop("profile")),
        budgets=parse_budgets(b) if (b := options.pop("budgets")) is not None else None,
        decode_tokens=options.pop("decode_tokens"),
        scenario_timeout=options.pop("timeout"),
        isolate=options.pop("isolate"),
        mutations=options.pop("mutations"),
        localise_seconds=0.0 if options.pop("localise") is False else None,
        task={key: options.pop(key) for key in ("limit", "num_fewshot", "max_gen_toks")},
    )
    options["tasks"] = tuple(dict.fromkeys(options["tasks"])) or None
    options["engine_args"] = parse_engine_args(options.pop("engine_arg"))
    options["inject"] = parse_inject(options.pop("inject"))
    given = {key: value for key, value in options.items() if value is not None}
    return validated(Request, {**given, "profile": profile}, where="command line")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(
    request: Request,
    specs: tuple[CheckSpec, ...],
    prompts: list[workload.Prompt],
    model: str,
    folder: RunFolder,
    console: Console,
) -> Report:
    folder.write_json("request.json", request.model_dump(mode="json"))
    display = Display(console)
    pipeline = Pipeline(folder, display, model)
    with display.live(), ThreadPoolExecutor(2) as background:
        # Both processes are busy importing vLLM for as long: one of them on each core.
        operators = start(KernelsRequest(), folder.path) if with_kernels(specs) else None
        try:
            reading = background.submit(operators.collect, TIMEOUT) if operators else None
            loading = background.submit(load, request) if with_tasks(specs) else None
            ask = _prepare(request, model, prompts)
            prepared = pipeline.prepare(ask, request.profile.start_timeout)
            tasks = _collect(request, loading, pipeline, prepared)
            plan = _plan(request, specs, prepared, folder, prompts, tasks)
            measured = _measured(reading, folder, display)
            digest = background.submit(_digest, prepared.model.path)
            requests = tasks.requests if tasks else {}
            pipeline.run(plan, request.profile, Work(prepared.token_ids, requests))
        finally:
            pipeline.close()
            if operators:
                operators.kill()  # its reader ends with it
            # A run that has measured nothing replaces nothing.
            folder.accept() if pipeline.measured() else folder.refuse()
        traces = pipeline.traces()
        scores = {}
        if tasks:
            with display.phase("score the answers"):
                scores = tasks.score(pipeline, traces, folder)
        with display.phase("compare and judge"):
            evidence = Evidence(
                plan=plan,
                profile=request.profile,
                prompt_names=tuple(p.id for p in prompts),
                outcomes=pipeline.outcomes,
                traces=traces,
                engines=pipeline.engines,
                experts=prepared.model.experts,
                linear_attention=pipeline.facts.linear_attention if pipeline.facts else None,
                states=pipeline.states(),
                task_requests={name: len(found) for name, found in requests.items()},
                scores=scores,
                min_score=request.min_score,
                kernels=measured,
            )
            asked = tasks.asked(request) if tasks else ()
            report = assemble(request, specs, prepared, evidence, pipeline, digest.result(), asked)
        if report.verdict is Verdict.FAIL and request.profile.localise_seconds:
            write_json(report, folder.path)  # it is there whatever becomes of the search
            suspect = Suspect(evidence, report, prepared.token_ids, model, folder)
            report = _localised(suspect, request.profile.localise_seconds, display)
    write_json(report, folder.path)
    write_whole(folder.path / "report.txt", render_text(report))
    return report


def _localised(suspect: Suspect, seconds: float, display: Display) -> Report:
    """The report with what was found of the fault. A search that fails changes no verdict."""
    report = suspect.report
    try:
        found: dict[str, Any] = {"localised": localise(suspect, seconds, display)}
    except Exception as error:
        lost = f"The search for the cause itself failed: {type(error).__name__}: {error}"
        found = {"notes": (*report.notes, lost)}
    return report.model_copy(update={**found, "phases": tuple(display.phases)})


def _prepare(request: Request, model: str, prompts: list[workload.Prompt]) -> Prepare:
    return Prepare(
        model=model,
        revision=request.revision,
        trust_remote_code=request.trust_remote_code,
        prompts=tuple(prompts),
        engine_args=(*request.profile.engine_args, *request.engine_args),
    )


def _plan(
    request: Request,
    specs: tuple[CheckSpec, ...],
    prepared: Prepared,
    folder: RunFolder,
    prompts: list[workload.Prompt],
    tasks: Tasks | None,
) -> Plan:
    """The plan for what the checks need, written down with the workload."""
    lengths = tuple(len(ids) for ids in prepared.token_ids)
    positions = prepared.model.max_position_embeddings
    shapes = tasks.shapes() if tasks else ()
    plan = build_plan(request, lengths, kinds(specs), positions, shapes, needs(specs))
    folder.write_json("plan.json", plan.model_dump(mode="json"))
    pairs = zip(prompts, prepared.token_ids, strict=True)
    folder.write_json("workload.json", [{"id": p.id, "token_ids": ids} for p, ids in pairs])
    for name, asked in (tasks.requests if tasks else {}).items():
        folder.write_json(f"tasks/{name}.json", [r.model_dump(mode="json") for r in asked])
    return plan


def _measured(
    reading: "Future[KernelEvidence] | None", folder: RunFolder, display: Display
) -> KernelEvidence | None:
    """What the operators' process measured, written down before anything judges it. Waited for
    before the engine serves: the two would slow each other down."""
    if reading is None:
        return None
    with display.phase("wait for the operators' cases"):
        write_kernels(folder.path, reading.result())
    return read_kernels(folder.path)


def _collect(
    request: Request, loading: "Future[Loaded] | None", pipeline: Pipeline, prepared: Prepared
) -> Tasks | None:
    """The tasks and their requests, once they are loaded."""
    if loading is None:
        return None
    with pipeline.display.phase("collect the tasks' requests"):
        tokenizer = pipeline.tokenizer(prepared, request.enable_thinking)
        return Tasks(request, loading.result(), tokenizer)


def _digest(folder: str | None) -> str | None:
    return weights_digest(Path(folder)) if folder else None
