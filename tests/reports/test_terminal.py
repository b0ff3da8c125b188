"""The report on a terminal: complete, 80 columns wide, and never obeying what it prints."""

from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.cells import cell_len
from rich.console import Console

from linattn_verify.checks.result import CheckResult, Proof, Verdict, WorstToken
from linattn_verify.reports.document import Report
from linattn_verify.reports.numbers import limit_text, margin_text, number
from linattn_verify.reports.terminal import render, render_text

Make = Callable[..., Report]
HOSTILE = {
    "markup": ("[red]x[/red]", "'[red]x[/red]'"),
    "emoji code": (":boom:", "':boom:'"),
    "escape": ("\x1b[31mred", r"'\x1b[31mred'"),
    "newline": ("a\r\nb", r"'a\r\nb'"),
    "right to left": ("a\u202eb\u200f", r"'a\u202eb\u200f'"),
    "line separator": ("a\u2028b", r"'a\u2028b'"),
    "html": ("</script>", "'</script>'"),
    "backslash": ("\\n", r"'\\n'"),
    "quote": ("it's", '"it\'s"'),
    "blank": ("  ", "'  '"),
    "no-break space": ("\xa0", r"'\xa0'"),
    "accent alone": ("\u0301a", r"'\u0301a'"),
    "long": ("=" * 500, "'========"),
    "wide": ("漢字" * 99, "漢字漢字"),
    "empty": ("", "''"),
}


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_console(any_report: Report, width: int) -> None:
    assert max(cell_len(line) for line in render_text(any_report, width).splitlines()) <= width


def test_the_verdict_comes_first_in_words(any_report: Report) -> None:
    first = render_text(any_report).splitlines()[1]
    assert first.split()[1:5] == [any_report.verdict, "exit", "code", str(any_report.exit_code)]


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("kind", ["pass", "fail"])
def test_every_metric_is_there_with_value_limit_and_margin(
    made: Make, kind: str, width: int
) -> None:
    report = made(kind)
    text = render_text(report, width)
    for check in report.checks:
        start = text.index(f"■ {check.scenario} vs full · {check.name} · {check.verdict}")
        part = text[start:].split("\n■")[0]
        for name, value in check.metrics.items():
            leg, rest = name.split(".", 1)
            segment, statistic = rest.rsplit(".", 1)
            limit = check.limits.get(name)
            line, limits, place = _found(part, leg, segment, statistic)
            cell = line[place:].split()
            assert cell[0] == number(value), name
            if limit is not None:
                assert limits[place:].split()[0] == limit_text(limit.limit), name
                mark = margin_text(limit) + ("" if limit.holds else "✗")
                assert cell[1] == mark, name


def _found(part: str, leg: str, segment: str, statistic: str) -> tuple[str, str, int]:
    """The row of a metric, the limits that govern it, and the column at which it starts."""
    heading = limits = ""
    for line in part.splitlines():
        words = line.split()
        if words[:1] == [leg] and statistic in words:
            heading, limits = line, ""
        elif not words:
            heading = ""
        elif heading and words[0] == "limit":
            limits = line
        elif heading and words[0] == segment:
            return line, limits, heading.index(f" {statistic}") + 1
    raise AssertionError(f"{leg}.{segment}.{statistic} is not shown")


def test_checks_proofs_and_environment_are_there(made: Make) -> None:
    text = render_text(made("fail"))
    for expected in (
        "chunked-prefill  chunked@256  full  ×0.11✗",
        "9,823 of 9,843 compared, cached not computed 20",
        "' harbour'",
        "✓  one prefill step",
        "mamba_cache_mode  all        align     changed",
        "using 'align'",
        "sha256:7c1f0e5b3a",
        "avx512f",
        "gated delta net: cpu_gdn_attention",
        "transformers            5.19",
        "four times the largest value in 20 healthy runs",
        "traces/chunked@256.parquet",
        "import the engine  9.5 s    19%",
        "runs/2026-01-17T09-30-00-tiny-qwen3.5",
    ):
        assert expected in text


def test_what_did_not_pass_comes_first_among_checks(made: Make) -> None:
    text = render_text(made("vacuous"))
    assert text.index("VACUOUS  prefix-cache") < text.index("PASS     chunked-prefill")


def test_a_missing_proof_is_marked(made: Make) -> None:
    text = render_text(made("vacuous"))
    assert "warm  0 of 1 proven\n  ✗  a prefix came from" in text


def test_a_crash_shows_signal_traceback_and_the_end_of_the_log(made: Make) -> None:
    text = render_text(made("crash"))
    assert "chunked@256: crashed\n  The engine's process ended by signal 11 (SIGSEGV)." in text
    assert "step [bold]\n" in text
    assert r"RuntimeError: \x1b[31mred" in text
    assert "last 10 of 13 lines" in text and "line 13 of the engine's log" in text


@pytest.mark.parametrize("case", HOSTILE)
def test_token_text_is_shown_and_not_obeyed(made: Make, case: str) -> None:
    token, shown = HOSTILE[case]
    text = render_text(made("pass", results=(_with_token(token),)))
    assert shown in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert all(c.isprintable() or c == "\n" for c in text)


def test_markup_in_messages_proofs_and_paths_is_not_obeyed(made: Make) -> None:
    proof = Proof(name="[b]name[/b]", expected="[/]", observed="\x07", holds=False)
    told = CheckResult(
        name="[i]check",
        scenario="warm",
        reference=None,
        verdict=Verdict.FAIL,
        message="[/nonsense] :boom:",
    )
    text = render_text(
        made("pass", results=(told,), proofs={"warm": (proof,)}, run_folder="[red]run")
    )
    for shown in ("[b]name[/b]", "[/] ", r"\x07", "[i]check", "[/nonsense] :boom:", "[red]run"):
        assert shown in text


def test_without_colour_there_is_no_escape_code(any_report: Report) -> None:
    assert "\x1b" not in render_text(any_report)


def test_with_colour_the_words_are_the_same(made: Make) -> None:
    page = StringIO()
    render(made("fail"), Console(file=page, width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[1;31mFAIL\x1b[0m" in page.getvalue()
    plain = Console(file=StringIO(), width=80, record=True, force_terminal=True)
    render(made("fail"), plain)
    recorded = "\n".join(line.rstrip() for line in plain.export_text().splitlines()) + "\n"
    assert recorded == render_text(made("fail"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_console_without_unicode_gets_ascii(any_report: Report, encoding: str) -> None:
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding=encoding, errors="strict")
    render(any_report, Console(file=file, width=80, color_system=None))
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert max(map(len, text.splitlines())) <= 80
    assert any_report.verdict in text


def test_more_worst_tokens_than_fit_are_counted(made: Make) -> None:
    many = _with_token("x", count=8)
    assert "… 3 more in report.json" in render_text(made("pass", results=(many,)))


def test_long_names_are_folded_and_not_cut(made: Make) -> None:
    long = _with_token("x").model_copy(update={"name": "n" * 45, "scenario": "s" * 45})
    text = render_text(made("pass", results=(long,)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("n" * 20) >= 2


def _with_token(text: str, count: int = 1) -> CheckResult:
    worst = WorstToken(
        request=0,
        prompt="ledger",
        leg="prompt",
        position=100_000,
        text=text,
        chunk=100,
        edge_distance=None,
        reference_logprob=-12.5,
        candidate_logprob=-13.75,
        delta=1.25,
    )
    return CheckResult(
        name="chunked-prefill",
        scenario="chunked@256",
        reference="full",
        verdict=Verdict.PASS,
        message="",
        worst=(worst,) * count,
    )
