"""From a request to evidence on disk: what judges it reads it back from there."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from linattn_verify.checks.registry import CheckSpec
from linattn_verify.cli.commands import Work
from linattn_verify.cli.folder import RunFolder
from linattn_verify.cli.kernels_command import TIMEOUT, start
from linattn_verify.cli.model import weights_digest
from linattn_verify.cli.needs import kinds, needs, with_kernels, with_tasks
from linattn_verify.cli.pipeline import Pipeline, engine_environment
from linattn_verify.cli.progress import Display
from linattn_verify.cli.record import Planned, RecordKeeper, new_record
from linattn_verify.cli.recorded import WORKLOAD
from linattn_verify.cli.tasks import Loaded, Tasks, load
from linattn_verify.configs.planning import build_plan
from linattn_verify.configs.request import Request
from linattn_verify.engine.kernel_messages import KernelsRequest
from linattn_verify.engine.messages import Prepare, Prepared
from linattn_verify.reports.document import Prompt as Named
from linattn_verify.traces.kernels import KernelEvidence, write_kernels
from linattn_verify.workloads.folder import file_digest
from linattn_verify.workloads.prompts import Prompt


@dataclass(frozen=True)
class Asked:
    """What is to be measured."""

    request: Request
    specs: tuple[CheckSpec, ...]
    prompts: tuple[Prompt, ...]
    model: str
    """Hub name or folder, as the engine is given it."""


def measure(asked: Asked, folder: RunFolder, display: Display) -> RecordKeeper:
    """Serve every scenario that the checks need; what there is to know of it is in the folder, as
    the returned keeper has it on record."""
    request = asked.request
    keeper = RecordKeeper(folder, new_record(request, engine_environment(asked.model)))
    pipeline = Pipeline(folder, display, asked.model)
    try:
        with display.live(), ThreadPoolExecutor(2) as background:
            _measure(asked, pipeline, keeper, background)
    finally:
        # A run that has measured nothing replaces nothing.
        folder.accept() if pipeline.measured() else folder.refuse()
    keeper.finish(tuple(display.phases), datetime.now(UTC).replace(microsecond=0))
    return keeper


def _measure(
    asked: Asked, pipeline: Pipeline, keeper: RecordKeeper, background: ThreadPoolExecutor
) -> None:
    request, folder, display = asked.request, pipeline.folder, pipeline.display
    # Both processes are busy importing vLLM for as long: one of them on each core.
    operators = start(KernelsRequest(), folder.path) if with_kernels(asked.specs) else None
    try:
        reading = background.submit(operators.collect, TIMEOUT) if operators else None
        loading = background.submit(load, request) if with_tasks(asked.specs) else None
        prepared = pipeline.prepare(_prepare(asked), request.profile.start_timeout)
        tasks = _collect(request, loading, pipeline, prepared)
        keeper.planned(_plan(asked, prepared, folder, tasks))
        if reading:
            _keep_operators(reading, folder, display)
        weighing = background.submit(_weigh, keeper, prepared.model.path)
        work = Work(prepared.token_ids, tasks.requests if tasks else {})
        assert keeper.record.planned is not None
        pipeline.run(keeper.record.planned.plan, request.profile, work)
        weighing.result()
    finally:
        pipeline.close()
        if operators:
            operators.kill()  # its reader ends with it
    if tasks:
        with display.phase("score the answers"):
            tasks.score(pipeline, pipeline.traces(), folder)


def _prepare(asked: Asked) -> Prepare:
    request = asked.request
    return Prepare(
        model=asked.model,
        revision=request.revision,
        trust_remote_code=request.trust_remote_code,
        prompts=asked.prompts,
        engine_args=(*request.profile.engine_args, *request.engine_args),
    )


def _plan(asked: Asked, prepared: Prepared, folder: RunFolder, tasks: Tasks | None) -> Planned:
    """The plan for what the checks need; what it serves is written down."""
    request, specs = asked.request, asked.specs
    lengths = tuple(len(ids) for ids in prepared.token_ids)
    positions = prepared.model.max_position_embeddings
    shapes = tasks.shapes() if tasks else ()
    plan = build_plan(request, lengths, kinds(specs), positions, shapes, needs(specs))
    pairs = tuple(zip(asked.prompts, prepared.token_ids, strict=True))
    served = {WORKLOAD: [{"id": p.id, "token_ids": ids} for p, ids in pairs]}
    for name, requests in (tasks.requests if tasks else {}).items():
        served[f"tasks/{name}.json"] = [r.model_dump(mode="json") for r in requests]
    for name, document in served.items():
        folder.write_json(name, document)
    return Planned(
        plan=plan,
        model=prepared.model,
        prompts=tuple(Named(id=p.id, tokens=len(ids)) for p, ids in pairs),
        tasks=tasks.asked(request) if tasks else (),
        digests={name: file_digest(folder.path / name) for name in served},
    )


def _keep_operators(reading: "Future[KernelEvidence]", folder: RunFolder, display: Display) -> None:
    """Write down what the operators' process measured. Waited for before the engine serves: the
    two would slow each other down."""
    with display.phase("wait for the operators' cases"):
        write_kernels(folder.path, reading.result())


def _collect(
    request: Request, loading: "Future[Loaded] | None", pipeline: Pipeline, prepared: Prepared
) -> Tasks | None:
    """The tasks and their requests, once they are loaded."""
    if loading is None:
        return None
    with pipeline.display.phase("collect the tasks' requests"):
        tokenizer = pipeline.tokenizer(prepared, request.enable_thinking)
        return Tasks(request, loading.result(), tokenizer)


def _weigh(keeper: RecordKeeper, folder: str | None) -> None:
    keeper.weights(weights_digest(Path(folder)) if folder else None)
