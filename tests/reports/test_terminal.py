"""The report on a terminal: complete, 80 columns wide, and never obeying what it prints."""

import re
from collections.abc import Callable
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.cells import cell_len
from rich.console import Console

from linattn_verify.checks.result import CheckResult, Proof, Verdict, WorstToken
from linattn_verify.reports.document import Phase, Report
from linattn_verify.reports.numbers import limit_text, margin_mark, margin_text, number
from linattn_verify.reports.terminal import render, render_text
from tests.reports.pages import compact

Make = Callable[..., Report]
Page = Callable[..., str]
Compared = Callable[..., CheckResult]
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


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_console(page: Page, any_report: Report, width: int) -> None:
    assert max(cell_len(line) for line in page(any_report, width).splitlines()) <= width


def test_the_verdict_comes_first_in_words(page: Page, any_report: Report) -> None:
    first = page(any_report).splitlines()[1]
    assert first.split()[1:5] == [any_report.verdict, "exit", "code", str(any_report.exit_code)]


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("kind", ["pass", "fail"])
def test_every_metric_is_there_with_value_limit_and_margin(
    made: Make, kind: str, width: int
) -> None:
    report = made(kind)
    text = render_text(report, width)
    for check in (c for c in report.checks if c.name != "logprobs-close"):
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


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("kind", ["pass", "fail"])
def test_every_statistic_is_on_the_compact_page(made: Make, kind: str, width: int) -> None:
    report = made(kind)
    text = compact(report, width)
    assert "Exactly 0 in every scenario, leg and segment: non_finite ≤ 0." in text
    for check in (c for c in report.checks if c.name != "logprobs-close"):
        table = text[text.index(f"\n{check.scenario} vs full ") + 1 :].split("\n\n")[0]
        rows = {line.split()[0]: line for line in table.splitlines()[1:]}
        for name, value in check.metrics.items():
            leg, rest = name.split(".", 1)
            segment, statistic = rest.rsplit(".", 1)
            row = rows.get(statistic, "")
            if statistic == "non_finite":
                continue
            if segment == "all" and (width == 120 or name not in check.limits):
                assert number(value) in row.split(), name
            if segment == "edge+0" and name in check.limits:
                limit = check.limits[name]
                assert f" ≤ {limit_text(limit.limit)} " in row, name
                assert [number(value), margin_mark(limit), "+0"] in _triples(row), name
            assert f"{leg} " in f"{table.splitlines()[0]} ", name


def _triples(row: str) -> list[list[str]]:
    words = row.split()
    return [words[at : at + 3] for at in range(len(words) - 2)]


def test_three_legs_drop_the_value_over_all_positions_where_they_must(made: Make) -> None:
    narrow, wide = compact(made("pass"), 80), compact(made("pass"), 120)
    assert "warm vs full           prompt           decode           cut\n" in narrow
    assert "prompt  tightest" in wide[wide.index("\nwarm vs full") :]


def test_numbers_without_leg_are_a_row_a_scenario(made: Make) -> None:
    text = compact(made("fail"))
    table = text[text.index("\nlogprobs-close\n") :]
    assert "\nlimit ≤                –          0        0\n" in table
    assert "\nchunked@256  2         1          3 ✗      0\n" in table
    assert "\nwarm         2         1          0        0\n" in table


def test_a_scenario_without_any_difference_takes_a_line(made: Make, compared: Compared) -> None:
    results = (compared("chunked@256", 0.0), compared("warm"))
    assert (
        "chunked@256 vs full: every value is exactly 0 (bit-identical); mean ≤ 0.02, p50, p90"
    ) in compact(made("pass", results=results), 120)


def test_a_leg_without_any_difference_is_named_under_the_table(
    made: Make, compared: Compared
) -> None:
    made_up = compared("warm").model_dump()
    for name in (name for name in made_up["metrics"] if name.startswith("decode.")):
        made_up["metrics"][name] = 0.0
        if name in made_up["limits"]:
            made_up["limits"][name] |= {"value": 0.0, "margin": None}
    text = compact(made("pass", results=(CheckResult.model_validate(made_up),)))
    assert "\nwarm vs full           prompt  tightest         cut     tightest\n" in text
    assert "exactly 0: all of decode (bit-identical); non_finite ≤ 0" in text


def test_scenarios_with_the_same_numbers_share_a_table(made: Make, compared: Compared) -> None:
    warm = compared("warm")
    text = compact(made("pass", results=(warm, warm.model_copy(update={"scenario": "warm-2"}))))
    assert text.count("\nwarm and warm-2 vs full") == 1


def test_checks_and_environment_are_there(page: Page, made: Make) -> None:
    text = page(made("fail"))
    for expected in (
        "chunked-prefill  chunked@256  full  ×0.11✗",
        "70 of 86 limits are broken",
        "3 short prompts left out",
        "' harbour'",
        "mamba_cache_mode  all        align     changed",
        "using 'align'",
        "sha256:7c1f0e5b3a",
        "Qwen3_5ForCausalLM",
        "avx512f",
        "gated delta net: cpu_gdn_attention",
        "5.19",
        "four times the largest value in 20 healthy runs",
        "rule of the check",
        "import the engine  9.5 s",
        "runs/2026-01-17T09-30-00-tiny-qwen3.5",
        "report.json",
    ):
        assert expected in text


def test_every_check_and_proof_is_on_the_compact_page(any_report: Report) -> None:
    text = compact(any_report, 200)
    found = re.findall(r"^(\S+) +(\S+) +((?:\S+, )*\S+)", text.split("Checks: ")[1], re.MULTILINE)
    rows = [(verdict, name, scenario) for verdict, name, s in found for scenario in s.split(", ")]
    for check in any_report.checks:
        assert rows.count((check.verdict.value, check.name, check.scenario)) == 1
    for scenario in any_report.scenarios:
        for proof in scenario.proofs:
            assert proof.name in text
            assert proof.observed.replace("10 of 10", "10/10") in text


def test_the_full_page_has_every_proof_and_trace(made: Make) -> None:
    text = render_text(made("fail"))
    for expected in (
        "✓  one prefill step",
        "traces/chunked@256.parquet",
        "import the engine  9.5 s    19%",
    ):
        assert expected in text


def test_the_compact_page_says_where_the_full_one_is(made: Make) -> None:
    assert "every segment: report.txt; everything: report.json in runs" in compact(
        made("pass"), 120
    )


def test_a_check_that_passed_names_its_tightest_metric(made: Make) -> None:
    assert "PASS prefix-cache    warm        full ×7.2   prompt.edge+0.kl_k3" in compact(
        made("pass")
    )


def test_what_did_not_pass_comes_first_among_checks(page: Page, made: Make) -> None:
    text = page(made("vacuous"))
    assert text.index("VACUOUS  prefix-cache") < text.index(" chunked-prefill")


def test_a_missing_proof_is_marked(made: Make) -> None:
    text = render_text(made("vacuous"))
    assert "warm  0 of 1 proven\n  ✗  a prefix came from" in text
    section = compact(made("vacuous")).split("What was proven")[1].splitlines()
    assert section[1] == (
        "✗ warm · a prefix came from the cache: expected > 0 cached tokens, observed 0"
    )


def test_what_holds_in_every_scenario_is_said_once(made: Make) -> None:
    served = Proof(name="served", expected="every prompt", observed="2 of 2", holds=True)
    own = [Proof(name="prefix_caching", expected=x, observed=x, holds=True) for x in ("off", "on")]
    names = {"full": own[0], "chunked@256": own[0], "warm": own[1]}
    text = compact(made("pass", proofs={name: (served, proof) for name, proof in names.items()}))
    assert "In every one of 3 scenarios: every prompt\n" in text
    assert "full, chunked@256  2/2  caching off\nwarm               2/2  caching on\n" in text


def test_notes_of_several_engines_are_shown_once_and_cut(made: Make) -> None:
    report = made("pass")
    notes = tuple(f"note {n} {'long ' * 30}" for n in range(8))
    both = {"plain": notes, "cached": notes}
    engine = report.engine.model_copy(update={"notes": both})
    text = compact(report.model_copy(update={"engine": engine, "notes": (notes[0], "Mind this.")}))
    assert "In the log of engines plain, cached:\n  note 0 long" in text
    assert text.count("note 0") == text.count("note 5") == 1 and "note 6" not in text
    assert "… 2 more in report.json" in text and "Note: Mind this." in text


def test_many_phases_stand_two_in_a_row(made: Make) -> None:
    report = made("pass")
    phases = tuple(Phase(name=f"part {n}", seconds=n) for n in range(1, 8))
    text = compact(report.model_copy(update={"phases": phases}))
    assert "Cost by phase: 28 s in total" in text
    assert "part 1  1.0 s  part 5  5.0 s\n" in text and "\npart 4  4.0 s\n" in text


def test_a_crash_shows_signal_traceback_and_the_end_of_the_log(page: Page, made: Make) -> None:
    text = page(made("crash"))
    assert "chunked@256: crashed\n  The engine's process ended by signal 11 (SIGSEGV)." in text
    assert "step [bold]\n" in text
    assert r"RuntimeError: \x1b[31mred" in text
    assert "last 10 of 13 lines" in text and "line 13 of the engine's log" in text


@pytest.mark.parametrize("case", HOSTILE)
def test_token_text_is_shown_and_not_obeyed(page: Page, made: Make, case: str) -> None:
    token, shown = HOSTILE[case]
    text = page(made("pass", results=(_with_token(token, verdict=Verdict.FAIL),)))
    assert shown in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert all(c.isprintable() or c == "\n" for c in text)


def test_markup_in_messages_proofs_and_paths_is_not_obeyed(page: Page, made: Make) -> None:
    proof = Proof(name="[b]name[/b]", expected="[/]", observed="\x07", holds=False)
    told = CheckResult(
        name="[i]check",
        scenario="warm",
        reference=None,
        verdict=Verdict.FAIL,
        message="[/nonsense] :boom:",
    )
    text = page(made("pass", results=(told,), proofs={"warm": (proof,)}, run_folder="[red]run"))
    for shown in ("[b]name[/b]", "[/]", r"\x07", "[i]check", "[/nonsense] :boom:", "[red]run"):
        assert shown in text


def test_without_colour_there_is_no_escape_code(page: Page, any_report: Report) -> None:
    assert "\x1b" not in page(any_report)


def test_with_colour_the_words_are_the_same(made: Make) -> None:
    page = StringIO()
    render(made("fail"), Console(file=page, width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[1;31mFAIL\x1b[0m" in page.getvalue()
    plain = Console(file=StringIO(), width=80, record=True, force_terminal=True)
    render(made("fail"), plain)
    recorded = "\n".join(line.rstrip() for line in plain.export_text().splitlines()) + "\n"
    assert recorded == compact(made("fail"))


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize(("encoding", "full"), [("ascii", False), ("cp1252", True)])
def test_a_console_without_unicode_gets_ascii(
    any_report: Report, encoding: str, full: bool, width: int
) -> None:
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding=encoding, errors="strict")
    render(any_report, Console(file=file, width=width, color_system=None), full=full)
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert max(map(len, text.splitlines())) <= width
    assert any_report.verdict in text


def test_more_worst_tokens_than_fit_are_counted(made: Make) -> None:
    many = _with_token("x", count=8)
    assert "… 3 more in report.json" in render_text(made("pass", results=(many,)))


def test_the_worst_tokens_of_a_run_that_passed_share_a_table(
    made: Make, compared: Compared
) -> None:
    text = compact(made("pass", results=(_with_token("x", count=6), compared("warm"))))
    rows = text.split("Worst tokens")[1].split("\n\n")[0].splitlines()[4:]
    assert [row.split()[0] for row in rows] == ["chunked@256"] * 6 + ["warm"] * 2


def test_the_worst_tokens_of_a_failed_check_stand_alone(made: Make, compared: Compared) -> None:
    failed = _with_token("x", count=7, verdict=Verdict.FAIL)
    text = compact(made("pass", results=(failed, compared("warm"))))
    section = text.split("Worst tokens")[1].split("What was proven")[0]
    assert section.count("'x'") == 5 and "… 2 more in report.json" in section
    assert "warm" not in section


def test_long_names_are_folded_and_not_cut(page: Page, made: Make) -> None:
    long = _with_token("x").model_copy(update={"name": "n" * 45, "scenario": "s" * 45})
    text = page(made("pass", results=(long,)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("n" * 20) >= 2


def _with_token(text: str, count: int = 1, verdict: Verdict = Verdict.PASS) -> CheckResult:
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
        verdict=verdict,
        message="",
        worst=(worst,) * count,
    )
