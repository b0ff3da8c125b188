"""`linattn-verify`: commands, options and exit codes. Nothing heavy is imported to show help."""

import sys
from pathlib import Path
from typing import Any

import click

from linattn_verify.cli.completion import SHELLS, check_names, completion_script, profile_names
from linattn_verify.cli.exports import export_options

EXIT_USAGE, EXIT_ERROR, EXIT_INTERRUPTED = 2, 4, 130
_ONLY = click.option(
    "--only",
    multiple=True,
    metavar="CHECK",
    shell_complete=check_names,
    help="Run this check only (repeatable).",
)
_SKIP = click.option(
    "--skip",
    multiple=True,
    metavar="CHECK",
    shell_complete=check_names,
    help="Leave this check out (repeatable).",
)
_RUN = click.Path(path_type=Path)
_FULL = click.option("--full", is_flag=True, help="Print every segment, flip and setting.")
_JSON = click.option(
    "--json",
    "json_to",
    type=click.Path(allow_dash=True),
    help="Write the report there; -: stdout.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="linattn-verify")
def cli() -> None:
    """Prove whether an inference engine serves hybrid / linear-attention models correctly."""


@cli.command()
@click.option(
    "--model",
    default="pocket",
    show_default=True,
    help="Hub name, folder, or an embedded one: pocket (trained), random (random weights).",
)
@click.option("--revision", help="Branch, tag or commit on the hub.")
@click.option("--dtype", help="Activations: auto, bfloat16, float16, float32. [default: auto]")
@click.option(
    "--profile",
    default="quick",
    show_default=True,
    shell_complete=profile_names,
    help="quick, ci, release, a YAML file.",
)
@click.option("--budgets", help="max_num_batched_tokens to chunk with, e.g. 512,256,128,100.")
@click.option("--prompts", type=click.Path(path_type=Path), help="JSONL, or text: a prompt a line.")
@click.option("--max-model-len", type=int, help="Longest prompt plus output, tokens.")
@click.option("--decode-tokens", type=int, help="Tokens generated for each prompt.")
@click.option("--seed", type=int, help="Seed of the engine. [default: 0]")
@click.option("--engine-arg", multiple=True, metavar="KEY=VALUE", help="Any vLLM engine argument.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The run's folder. [default: runs/…]",
)
@click.option("--force", is_flag=True, help="Replace an earlier run in --out.")
@_ONLY
@_SKIP
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="NAME",
    help="An lm-eval task to score (repeatable). [default: gsm8k]",
)
@click.option("--limit", type=int, help="Questions of each task, from its first on.")
@click.option("--num-fewshot", type=int, help="Examples in a task's prompts.")
@click.option("--max-gen-toks", type=int, help="Longest answer to a task, tokens.")
@click.option(
    "--chat-template/--no-chat-template",
    default=False,
    help="Ask tasks in the model's chat template. [default: no]",
)
@click.option("--enable-thinking", is_flag=True, help="Let a chat template turn thinking on.")
@click.option(
    "--gsm8k-data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="GSM8K's train.jsonl and test.jsonl, instead of the hub's.",
)
@click.option("--min-score", type=float, help="Share of right answers that is asked for, 0 to 1.")
@click.option("--timeout", type=float, help="Seconds that a scenario may go without progress.")
@click.option("--isolate/--no-isolate", default=None, help="An engine of its own for every budget.")
@click.option(
    "--mutations/--no-mutations",
    default=None,
    help="Lose the state on purpose, to prove that checks see it. [default: yes]",
)
@click.option(
    "--localise/--no-localise",
    default=None,
    help="On a FAIL, look for the cause and the smallest case. [default: yes]",
)
@click.option("--trust-remote-code", is_flag=True, help="Let the checkpoint bring Python code.")
@click.option(
    "--inject",
    multiple=True,
    metavar="SCENARIO=FAULT",
    help="Put a fault in on purpose.",
)
@click.option(
    "--json",
    "json_to",
    type=click.Path(allow_dash=True),
    help="Write report.json there too; -: stdout.",
)
@export_options
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Run a model under every scenario, compare, and print a report with a verdict.

    Exit codes: 0 all PASS; 1 a FAIL; 2 bad usage; 3 VACUOUS, INCONCLUSIVE or UNSUPPORTED and
    nothing worse; 4 ERROR; 130 interrupted.
    """
    from linattn_verify.cli.run_command import run_command

    context.exit(run_command(options))


@cli.command()
@click.option("--only", multiple=True, metavar="OPERATOR", help="This operator only (repeatable).")
@click.option("--strict", is_flag=True, help="Count calls that no layer of the engine makes, too.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep every case and the log there.")
@_JSON
@click.option("--inject", multiple=True, metavar="FAULT", help="Put a fault around an operator.")
@click.pass_context
def kernels(context: click.Context, /, **options: Any) -> None:
    """Call the engine's linear-attention operators one by one, without a model.

    One call against two with the state carried, both against float64 recurrences. Exit codes are
    those of run.
    """
    from linattn_verify.cli.kernels_command import kernels_command

    context.exit(kernels_command(options))


@cli.command("list")
@click.argument("kind", type=click.Choice(["checks", "profiles", "scenarios", "metrics"]))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_(kind: str, as_json: bool) -> None:
    """What there is to choose, and what each can and cannot see."""
    from linattn_verify.cli.list_command import list_command

    list_command(kind, as_json)


@cli.command()
@click.option("--model", default="pocket", show_default=True, help="As for run.")
@click.option(
    "--profile",
    default="quick",
    show_default=True,
    shell_complete=profile_names,
    help="As for run.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def doctor(context: click.Context, model: str, profile: str, as_json: bool) -> None:
    """Look at the environment, as far as it can change a result.

    Exit codes: 0 a run can start; 1 something prevents it.
    """
    from linattn_verify.cli.doctor_command import doctor_command

    context.exit(doctor_command(model, profile, as_json))


@cli.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands and options.

    In bash: eval "$(linattn-verify completion bash)". In zsh the same with zsh. In fish:
    linattn-verify completion fish | source.
    """
    click.echo(completion_script(cli, shell))


@cli.command()
@click.argument("folder", metavar="RUN", type=_RUN)
@click.option(
    "--profile",
    shell_complete=profile_names,
    help="Judge by the limits of this profile. [default: the run's own]",
)
@_ONLY
@_SKIP
@_FULL
@_JSON
@export_options
@click.pass_context
def judge(context: click.Context, /, folder: Path, **options: Any) -> None:
    """Judge the run in the folder RUN again, from its evidence alone: no engine is needed.

    Nothing in the folder changes. Exit codes are those of run.
    """
    from linattn_verify.cli.judge_command import judge_command

    context.exit(judge_command(folder, options))


@cli.command()
@click.argument("folder", metavar="RUN", type=_RUN)
@_FULL
@_JSON
@export_options
def report(folder: Path, **options: Any) -> None:
    """Print the report of the run in the folder RUN again.

    Exit code 0, whatever the verdict; 2 where there is no report.
    """
    from linattn_verify.cli.judge_command import report_command

    report_command(folder, options)


@cli.command()
@click.argument("folder", metavar="RUN", type=_RUN)
@click.option("--scenario", help="The failing scenario to look into. [default: nearest the cause]")
@click.option("--seconds", type=click.FloatRange(min=1), help="At most so long. [default: 120]")
def localise(folder: Path, scenario: str | None, seconds: float | None) -> None:
    """Look for the cause of a FAIL of the run in the folder RUN, and for the smallest case.

    Writes localised.json and repro.py, a script for plain vLLM, into RUN. Exit code 0; 2 where
    nothing fails.
    """
    from linattn_verify.cli.localise_command import localise_command

    localise_command(folder, scenario, seconds)


def entry() -> None:
    """The console script: every way to end, as an exit code."""
    from linattn_verify.configs.errors import UsageError

    try:
        # Not standalone: click would turn an interruption into exit code 1, which means FAIL.
        sys.exit(cli(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt) as error:
        # click turns the interruption into an Abort; what it leaves is the first one's text.
        click.echo(f"Interrupted. {error.__cause__ or error}".rstrip(), err=True)
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        import traceback

        traceback.print_exc()
        click.echo(
            f"Error: {type(error).__name__}: {error}\nThis is a fault of linattn-verify or of the "
            "machine, not a verdict on the engine. Please report it with the lines above.",
            err=True,
        )
        sys.exit(EXIT_ERROR)
