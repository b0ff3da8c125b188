"""Tasks by name, from lm-eval's own definitions."""

import logging
from pathlib import Path
from typing import Any

from linattn_verify.configs.errors import UsageError, unknown
from linattn_verify.tasks.data import GSM8K_PATHS, Rows, as_data_set

_SEED = 1234
"""Of the choice of examples: lm-eval's own default (lm_eval/defaults.py)."""
WITHOUT = "Or leave the task out: --skip task_score."
MISSING = (
    "lm-eval is not installed, so no task can be asked: pip install 'linattn-verify[gsm8k]'. "
    f"{WITHOUT}"
)


def load_tasks(
    names: tuple[str, ...], gsm8k: Rows | None, num_fewshot: int | None
) -> dict[str, Any]:
    """lm-eval's task objects by name, a group as its members. `gsm8k`: the data of every task about
    GSM8K, in place of the hub's. Raises UsageError for a name that is none, and for data that
    cannot be had.
    """
    try:
        import datasets
        import lm_eval.tasks
    except ImportError as error:
        raise UsageError(MISSING) from error
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    datasets.disable_progress_bars()
    manager = _manager(Path(lm_eval.tasks.__file__).parent, names)
    for name in names:
        if name not in manager.task_index:
            raise unknown("task", name, manager.all_tasks, "--task")
    loaded: dict[str, Any] = {}
    for name in names:
        loaded |= _loaded(manager, name, gsm8k)
    for task in loaded.values():
        _set_examples(task, num_fewshot)
    return loaded


def reset_examples(task: Any) -> None:
    """Choose the same examples again: lm-eval draws them as it builds its requests."""
    task.set_fewshot_seed(seed=_SEED)


def is_replaced(task: Any) -> bool:
    """Whether GSM8K's data was replaced; some of lm-eval's own tasks make their data, too."""
    ours = task.get_config("dataset_path") in GSM8K_PATHS
    return ours and task.get_config("custom_dataset") is not None


def _manager(home: Path, names: tuple[str, ...]) -> Any:
    """An index of the folders that are called like the tasks, where that is enough: to read all
    of lm-eval's definitions takes several seconds."""
    from lm_eval.tasks import TaskManager

    folders = [home / name for name in names]
    if all(name.isidentifier() for name in names) and all(f.is_dir() for f in folders):
        manager = TaskManager(include_path=folders, include_defaults=False)
        if all(name in manager.all_subtasks for name in names):
            return manager
    return TaskManager()


def _loaded(manager: Any, name: str, gsm8k: Rows | None) -> dict[str, Any]:
    spec: Any = name
    if gsm8k is not None and _is_about_gsm8k(manager.task_index[name]):
        # Of a group's members lm-eval lets parts of the definition be replaced.
        member = {"task": name, "custom_dataset": as_data_set(gsm8k)}
        spec = {"group": "replaced", "task": [member]}
    try:
        return dict(manager.load([spec])["tasks"])
    except Exception as error:
        raise UsageError(_cannot(name, error)) from error


def _is_about_gsm8k(entry: Any) -> bool:
    """Whether the definition, with those that it includes, names GSM8K's data; no group does."""
    return (entry.cfg or {}).get("dataset_path") in GSM8K_PATHS and "group" not in entry.cfg


def _cannot(name: str, error: Exception) -> str:
    first = str(error).strip().splitlines()[0:1] or [type(error).__name__]
    ways = "Its data comes from the Hugging Face hub: give this machine network, or a filled cache."
    if name.startswith("gsm8k"):
        ways = (
            "Its questions come from the Hugging Face hub (openai/gsm8k), which needs the network "
            "or a filled cache; otherwise give --gsm8k-data DIR with train.jsonl and test.jsonl."
        )
    return f"Task {name!r} cannot be loaded: {first[0]}\n{ways} {WITHOUT}"


def _set_examples(task: Any, num_fewshot: int | None) -> None:
    """As lm-eval's own command line does: a task that is defined without examples keeps to that."""
    own = task.get_config("num_fewshot")
    if num_fewshot is not None and own != 0:
        task.set_config(key="num_fewshot", value=num_fewshot)
    elif own is None:
        task.set_config(key="num_fewshot", value=0)
