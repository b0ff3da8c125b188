"""What the chosen checks need of a run, and whether the request allows it."""

from linattn_verify.checks.registry import CheckSpec
from linattn_verify.cli.model import check_harness_is_installed
from linattn_verify.configs.errors import UsageError
from linattn_verify.configs.plan import Kind, Need
from linattn_verify.configs.planning import check_inject, prompt_scenario_names
from linattn_verify.configs.request import Request


def kinds(specs: tuple[CheckSpec, ...]) -> set[Kind]:
    """Scenarios that they judge. A check that names no kind, such as effective_config, is about
    every engine."""
    serving = (s for s in specs if not s.tasks and Need.KERNELS not in s.needs)
    return {kind for spec in serving for kind in (spec.kinds or tuple(Kind))}


def needs(specs: tuple[CheckSpec, ...]) -> set[Need]:
    """What they need beside scenarios."""
    return {need for spec in specs for need in spec.needs}


def with_tasks(specs: tuple[CheckSpec, ...]) -> bool:
    """Whether any of them judges tasks."""
    return any(spec.tasks for spec in specs)


def with_kernels(specs: tuple[CheckSpec, ...]) -> bool:
    """Whether the engine's operators are to be measured."""
    return Need.KERNELS in needs(specs)


def check_tasks(request: Request, specs: tuple[CheckSpec, ...]) -> None:
    """What can be said of tasks and faults before anything is started."""
    if with_tasks(specs):
        check_harness_is_installed()
    given = _task_flags(request)
    if given and not with_tasks(specs):
        raise UsageError(
            f"{', '.join(given)}: no task is asked, since task_score is left out. Leave out the "
            "flag, or --skip task_score, or add --only task_score."
        )
    if request.enable_thinking and not request.chat_template:
        raise UsageError("--enable-thinking: the chat template does it; give --chat-template too.")
    of_prompts = prompt_scenario_names(request, kinds(specs), needs(specs))
    of_tasks: list[str] = []
    if with_tasks(specs):
        # Whether there is such a task is known once its group has been looked up.
        named = {name.rpartition("/")[0] for name in request.inject if "/" in name}
        every = prompt_scenario_names(request, tuple(Kind))
        of_tasks = [f"{task}/{scenario}" for task in sorted(named) for scenario in every]
    check_inject(request, [*of_prompts, *of_tasks])


def _task_flags(request: Request) -> list[str]:
    """The flags that say something of tasks alone."""
    given = {
        "--task": request.tasks != Request.model_fields["tasks"].default,
        "--chat-template": request.chat_template,
        "--enable-thinking": request.enable_thinking,
        "--gsm8k-data": request.gsm8k_data is not None,
        "--min-score": request.min_score is not None,
    }
    return [flag for flag, is_given in given.items() if is_given]
