"""Shell completion: the script for a shell, and the values that options complete to."""

import click
from click.shell_completion import CompletionItem, get_completion_class

PROGRAM = "linattn-verify"
SHELLS = ("bash", "zsh", "fish")


def completion_script(command: click.Command, shell: str) -> str:
    """What the shell has to read at its start."""
    made = get_completion_class(shell)
    assert made is not None
    variable = f"_{PROGRAM}_COMPLETE".replace("-", "_").upper()
    return made(command, {}, PROGRAM, variable).source()


def check_names(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Checks whose name begins so."""
    from linattn_verify.checks.registry import all_checks

    return [
        CompletionItem(spec.name, help=spec.fault)
        for spec in all_checks()
        if spec.name.startswith(begun)
    ]


def profile_names(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Built-in profiles whose name begins so, and files."""
    from linattn_verify.configs.profile import BUILT_IN

    named = [CompletionItem(name) for name in BUILT_IN if name.startswith(begun)]
    return [*named, CompletionItem(begun, type="file")]
