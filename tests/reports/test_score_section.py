"""A task's scores and flips on the terminal: every number, both widths, and nothing obeyed."""

import json
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len
from rich.console import Console

from linattn_verify.checks.result import CheckResult, Flip, LimitOutcome, Verdict
from linattn_verify.reports.document import Report
from linattn_verify.reports.flip import SharedFlip
from linattn_verify.reports.ink import Ink
from linattn_verify.reports.json_report import read_json, to_json, write_json
from linattn_verify.reports.schema import report_schema
from linattn_verify.reports.terminal import render, render_text
from tests.reports.pages import compact
from tests.reports.task_results import BETTER, FILTERS, STEADY, WORSE, flip_of, score_of, scored

Make = Callable[..., Report]
Page = Callable[..., str]
HEADING = "Task scores: gsm8k"
HOSTILE = {
    "markup": ("[red]x[/]", "[red]x[/]"),
    "html": ("</script>", "</script>"),
    "escape": ("\x1b[31mred", r"\x1b[31mred"),
    "title": ("\x1b]0;x\x07", r"\x1b]0;x\x07"),
    "emoji code": (":boom:", ":boom:"),
    "right to left": ("a\u202eb", r"a\u202eb"),
}


def section(text: str) -> str:
    """From the heading of the task to the heading that follows."""
    lines = text[text.index(f"\n{HEADING}") + 1 :].splitlines()
    ends = (at for at, line in enumerate(lines[1:], 1) if line.endswith("──"))
    return "\n".join(lines[: next(ends, len(lines))])


def block(text: str, filter_: str = "strict-match") -> list[str]:
    """The table of one filter: column names, then a row for each scenario."""
    lines = section(text).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"{filter_} · "))
    found = lines[start + 1 :]
    ends = (*FILTERS, "Difference:")
    return found[: next(at for at, line in enumerate(found) if line.startswith(ends))]


def with_flips(*flips: Flip) -> tuple[CheckResult, ...]:
    return scored("full"), scored("chunked@256", BETTER, flips)


@pytest.mark.parametrize("kind", ["pass", "fail", "crash", "nothing judged"])
def test_without_scores_there_is_no_section(page: Page, made: Make, kind: str) -> None:
    text = page(made(kind))
    assert "Task scores" not in text and "changed sides" not in text


def test_the_scores_follow_what_did_not_end_well(page: Page, made: Make) -> None:
    results = (*made_results(), scored("warm", STEADY))
    text = page(made("crash", results=results))
    assert text.index("Scenarios that did not end well") < text.index(HEADING)
    assert text.index(HEADING) < text.index("What was proven")


def made_results() -> tuple[CheckResult, ...]:
    return scored("full"), scored("chunked@256", WORSE, verdict=Verdict.FAIL)


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_row_has_every_number(page: Page, made: Make, filter_: str) -> None:
    """55 of 64 are 85.9 %, 56 are 87.5 %; a question more is 1/64, 1.6 points."""
    text = page(made("tasks"))
    assert f"\n{filter_} · exact_match · 64 questions\n" in text
    header, *rows = block(text, filter_)
    assert header.split() == [
        *("Scenario", "Score", "Difference", "Lost", "Gained", "p", "Invalid", "Cut", "Verdict")
    ]
    assert [row.split() for row in rows] == [
        ["full", "85.9", "%", *"––––", "2", "1", "PASS"],
        ["chunked@256", "87.5", "%", "+1.6", "[-5.6,", "+9.4]", "1", "2", "1", "2", "3", "PASS"],
        ["warm", "85.9", "%", "+0.0", "[-5.7,", "+5.7]", "0", "0", "1", "2", "3", "PASS"],
    ]


def test_a_wide_row_leaves_out_p_where_there_is_no_room(page: Page, made: Make) -> None:
    """11 + 6 + 20 + 4 + 6 + 7 + 3 + 12 characters and seven spaces are 76; p takes seven more."""
    text = page(made("tasks that fail"))
    assert block(text)[2].split() == [
        *("chunked@256", "64.1", "%", "-21.9", "[-34.0,", "-11.3]", "15", "1", "2", "3", "FAIL")
    ]
    assert max(map(len, block(text))) == 76
    assert "A wider console also shows p." in " ".join(section(text).split())
    wide = page(made("tasks that fail"), 120)
    assert " 5.2e-4 " in block(wide)[2] and "A wider console" not in section(wide)


@pytest.mark.parametrize("kind", ["tasks", "tasks that fail"])
def test_at_60_columns_the_answer_is_still_there(page: Page, made: Make, kind: str) -> None:
    text = page(made(kind), 60)
    assert max(map(len, section(text).splitlines())) <= 60
    table = "\n".join(block(text))
    for kept in ("Score", "Difference", "Lost", "Gained", "Verdict", "85.9 %", "[-5.7, +5.7]"):
        assert kept in table
    assert ("15      1 FAIL" if kind == "tasks that fail" else "1      2 PASS") in table


def test_a_long_scenario_name_is_folded(page: Page, made: Make) -> None:
    results = (scored("full"), scored("chunked@" + "1" * 60, WORSE))
    text = page(made("pass", results=results), 60)
    assert max(map(len, text.splitlines())) <= 60
    assert all("1" * 9 in row for row in block(text)[2:5])


def test_scenarios_that_judge_fewer_questions_get_a_column(page: Page, made: Make) -> None:
    few = tuple(score_of(name, STEADY, questions=50) for name in FILTERS)
    counts = {"questions": 64, "questions_compared": 50, "questions_left_out_uncut": 14}
    results = (scored("full"), scored("chunked@256", STEADY, scores=few, counts=counts))
    text = page(made("pass", results=results), 100)
    assert "strict-match · exact_match · 50 to 64 questions\n" in text
    assert [row.split()[:2] for row in block(text)] == [
        ["Scenario", "Questions"],
        ["full", "64"],
        ["chunked@256", "50"],
    ]
    assert "14 uncut questions left out" in text
    assert block(text)[2].split()[-2:] == ["–", "PASS"], "a count that is missing is not 0"


def test_one_question_is_one(page: Page, made: Make) -> None:
    one = (score_of("strict-match", STEADY, questions=1),)
    counts = {"questions_left_out_uncut": 1}
    report = made("pass", results=(scored("warm", STEADY, scores=one, counts=counts),))
    text = page(report)
    assert "strict-match · exact_match · 1 question\n" in text
    assert "1 uncut question left out" in " ".join(text.split())
    assert "over 1 question (" in report.headline


def test_below_the_table_stand_columns_and_margin_in_words(page: Page, made: Make) -> None:
    said = " ".join(section(page(made("tasks"))).split())
    for expected in (
        "Difference: score less the reference's on the same questions, in points",
        "Lost, gained: right in the reference alone, in the scenario alone.",
        "McNemar",
        "Invalid: outputs in which no answer was found. Cut: outputs ended by the length limit.",
        "Margin: a drop of 10 points (the profile's margin: the drop that the 95 % interval",
    ):
        assert said.count(expected) == 1


def test_the_limits_of_tasks_are_in_no_table_of_metrics(page: Page, made: Make) -> None:
    alone = made("pass", results=made_results())
    assert "Metrics by scenario" not in page(alone)
    beside = page(made("tasks"))
    assert "task_score" not in beside.split("Metrics by scenario")[1].split("What was proven")[0]


def test_a_floor_is_said_in_percent(page: Page, made: Make) -> None:
    floor = LimitOutcome(value=0.875, limit=0.8, origin="--min-score", holds=True, margin=1.09)
    result = scored("chunked@256", BETTER, limits={"min_score": floor})
    report = made("pass", results=(result,))
    assert "Every score has to reach 80 % (--min-score)." in " ".join(page(report).split())
    assert "(min_score of gsm8k/chunked@256: 87.5 %, at least 80 %)" in report.headline


def test_a_reference_of_no_use_leaves_dashes_and_the_reason(page: Page, made: Make) -> None:
    useless = tuple(
        score_of(name, reference_score=0.02, verdict=Verdict.VACUOUS, reason="nothing to lose")
        for name in FILTERS
    )
    result = scored("warm", STEADY, scores=useless, limits={}, verdict=Verdict.VACUOUS)
    text = page(made("pass", results=(result,)))
    assert block(text)[1].split()[1:7] == ["85.9", "%", *"––––"]
    assert "gsm8k/warm · flexible-extract · VACUOUS: nothing to lose" in text
    assert "changed sides" not in text


def test_every_flip_is_on_the_full_page(made: Make) -> None:
    text = section(render_text(made("tasks that fail")))
    titles = [f"gsm8k/chunked@256 · question {n} · lost · strict-match" for n in range(15)]
    assert [line for line in text.splitlines() if " · lost · " in line] == titles


def test_a_flip_shows_question_target_answers_and_both_outputs(made: Make) -> None:
    text = section(render_text(made("tasks"))).split("gsm8k/chunked@256 · question 17 ")[1]
    assert text.split("\n\n")[0].splitlines() == [
        "· lost · strict-match, flexible-extract",
        "  question   Natalia sold clips to 48 of her friends. How many clips are that in",
        "             May?",
        r"  target     '48 / 2 = 24\n#### 24'",
        "  answers    reference '24', candidate '23'",
        "  parted     at token 20, where the reference's token led by 0.0312 nats: a",
        "             near-tie",
        r"  reference  …'so she sold 48 / 2 = 24 clips.\n#### 24'",
        r"  candidate  …'so she sold 48 / 2 = 23 clips.\n#### 23'",
    ]


def test_the_compact_page_counts_flips_and_shows_the_first_three(made: Make) -> None:
    text = section(compact(made("tasks that fail")))
    assert "\nQuestions that changed sides: chunked@256 15 lost · warm none\n" in text
    assert [line.split(" · ")[1] for line in text.splitlines() if " · lost · " in line] == [
        *("question 0", "question 1", "question 2")
    ]
    assert text.endswith("\n… 12 more; report.txt has all flips.\n")


def test_a_flip_in_short(made: Make) -> None:
    text = section(compact(made("tasks")))
    assert "changed sides: chunked@256 1 lost, 2 gained · warm none\n" in text
    assert text.split("question 17 ")[1].splitlines()[:5] == [
        "· lost · strict-match, flexible-extract",
        r"  target '48 / 2 = 24\n#### 24', reference '24', candidate '23'",
        "  parted at token 20, where the reference's token led by 0.0312 nats: a near-tie",
        r"  reference  …'so she sold 48 / 2 = 24 clips.\n#### 24'",
        r"  candidate  …'so she sold 48 / 2 = 23 clips.\n#### 23'",
    ]
    assert text.endswith("\nreport.txt has all flips.\n")


def test_flips_of_what_did_not_pass_come_first(made: Make) -> None:
    passed = scored("warm", STEADY, (flip_of(question=3),))
    failed = scored("chunked@256", WORSE, (flip_of(question=5),), verdict=Verdict.FAIL)
    text = compact(made("pass", results=(passed, failed)))
    assert text.index("question 5 ") < text.index("question 3 ")


def test_no_flip_is_said(page: Page, made: Make) -> None:
    text = section(page(made("pass", results=with_flips())))
    assert text.endswith("\nNo question changed sides.\n")


def test_a_reference_alone_has_no_flips_to_speak_of(page: Page, made: Make) -> None:
    text = page(made("pass", results=(scored("full"),)))
    assert HEADING in text and "changed sides" not in text


def test_filters_that_flip_alike_share_one_entry(page: Page, made: Make) -> None:
    same = [flip_of(name) for name in FILTERS]
    text = page(made("pass", results=with_flips(*same)))
    assert text.count("question 17 · lost · strict-match, flexible-extract\n") == 1
    assert text.count("question 17 ") == 1 and "chunked@256 1 lost" in text


@pytest.mark.parametrize(
    "change", [{"question": 18}, {"change": "gained"}, {"candidate_output": "other"}], ids=str
)
def test_filters_that_flip_otherwise_have_their_own(
    page: Page, made: Make, change: dict[str, object]
) -> None:
    flips = flip_of(FILTERS[0]), flip_of(FILTERS[1], **change)
    text = page(made("pass", results=with_flips(*flips)))
    assert text.count(" · strict-match\n") == text.count(" · flexible-extract\n") == 1


def test_filters_that_found_other_answers_are_told_apart(page: Page, made: Make) -> None:
    flips = flip_of(FILTERS[0], candidate_answer="[invalid]"), flip_of(FILTERS[1])
    said = " ".join(page(made("pass", results=with_flips(*flips)), 120).split())
    assert "reference '24', candidate '[invalid]' (strict-match)" in said
    assert "reference '24', candidate '23' (flexible-extract)" in said


@pytest.mark.parametrize(
    ("at", "lead", "said"),
    [
        (20, 0.0999, "at token 20, where the reference's token led by 0.0999 nats: a near-tie"),
        (20, 0.1, "at token 20, where the reference's token led by 0.100 nats: no near-tie"),
        (0, None, "at token 0"),
        (None, None, "no output token differs"),
    ],
)
def test_where_outputs_part_in_words(at: int | None, lead: float | None, said: str) -> None:
    flip = flip_of(parted_at=at, reference_lead=lead)
    assert SharedFlip("warm", (flip,)).parting == said


@pytest.mark.parametrize(
    ("reference", "candidate", "excerpts"),
    [
        ("24 clips", "23 clips", (False, "24 clips", "23 clips")),
        ("", "23", (False, "", "23")),
        ("a" * 30 + "b", "a" * 30 + "c", (True, "a" * 24 + "b", "a" * 24 + "c")),
        (f"xxxxxxx {'a' * 20}b", f"xxxxxxx {'a' * 20}", (True, "a" * 20 + "b", "a" * 20)),
    ],
    ids=["at the start", "one is empty", "24 characters before", "from a word on"],
)
def test_excerpts_start_shortly_before_the_outputs_part(
    reference: str, candidate: str, excerpts: tuple[bool, str, str]
) -> None:
    flip = flip_of(reference_output=reference, candidate_output=candidate)
    assert SharedFlip("warm", (flip,)).excerpts == excerpts


def test_long_texts_are_cut_in_the_middle(made: Make) -> None:
    told = "b" * 900
    flip = flip_of(
        text=f"Ann has {'x ' * 450}pears?",
        target=f"First {'t ' * 450}\n#### 24",
        reference_output=f"{told} so 24 {'r ' * 450}#### 24",
        candidate_output=f"{told} so 23 {'c ' * 450}#### 23",
    )
    text = section(render_text(made("pass", results=with_flips(flip))))
    lines = text.split("question 17 ")[1].split("\n", 1)[1].replace("\n             ", " ")
    for opens, ends in (
        ("  question   Ann has x x", "x x pears?"),
        ("  target     'First t t", r"t t \n#### 24'"),
        ("  reference  …'so 24 r r", "r r #### 24'"),
        ("  candidate  …'so 23 c c", "c c #### 23'"),
    ):
        (line,) = [line for line in lines.splitlines() if line.startswith(opens)]
        assert line.endswith(ends) and "…" in line[20:] and cell_len(line) < 4 * 67


def test_the_middle_is_cut_in_cells() -> None:
    assert Ink(80).line("漢字" * 9, 11, tail=4).plain == "漢字漢…漢字"
    assert Ink(80, unicode=False).line("abcdefghijkl", 9, tail=3).plain == "abc...jkl"
    assert Ink(80).line("abcdef", 6, tail=3).plain == "abcdef"


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("case", HOSTILE)
def test_what_the_model_says_is_shown_and_not_obeyed(
    page: Page, made: Make, case: str, width: int
) -> None:
    text, shown = HOSTILE[case]
    flip = flip_of(
        **{name: text for name in ("text", "target", "reference_answer", "candidate_answer")},
        reference_output=f"{text} 24",
        candidate_output=f"{text} 23",
    )
    printed = section(page(made("pass", results=with_flips(flip)), width))
    assert printed.count(shown) == (6 if "\n  question " in printed else 5)
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert max(cell_len(line) for line in printed.splitlines()) <= width


@pytest.mark.parametrize("full", [False, True])
def test_hostile_output_on_a_console_of_ascii(made: Make, full: bool) -> None:
    flip = flip_of(candidate_output="漢字\ud7ff\x1b[31m", text="…\x00")
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding="ascii", errors="strict")
    report = made("pass", results=with_flips(flip))
    render(report, Console(file=file, width=80, color_system=None), full=full)
    file.flush()
    assert r"\u6f22\u5b57" in raw.getvalue().decode("ascii")


def test_report_json_has_scores_and_flips_whole(made: Make, tmp_path: Path) -> None:
    long = "x" * 5000 + "[red]x[/]</script>\x1b[31m"
    report = made("pass", results=with_flips(flip_of(candidate_output=long)))
    document = json.loads(to_json(report))
    jsonschema.validate(document, report_schema())
    check = document["checks"][1]
    assert [score["filter"] for score in check["scores"]] == list(FILTERS)
    assert check["scores"][0]["paired"]["gained"] == 2 and check["scores"][0]["score"] == 0.875
    assert document["checks"][0]["scores"][0]["paired"] is None
    assert check["flips"][0]["candidate_output"] == long
    assert "\x1b" not in to_json(report)
    assert read_json(write_json(report, tmp_path)) == report


def test_a_report_of_before_there_were_tasks_can_still_be_read(made: Make, tmp_path: Path) -> None:
    report = made("pass")
    document = json.loads(to_json(report))
    for check in document["checks"]:
        del check["scores"], check["flips"]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_json(path) == report
