"""The main job on a healthy engine: what it prints, what it leaves, what it proves."""

import itertools
import json
import math

import jsonschema
import lxml.html
import pandas as pd
import pytest
from junitparser import JUnitXml

from linattn_verify.cli.exports import FORMS
from linattn_verify.traces.store import read_trace
from tests.conftest import Invocation

pytestmark = pytest.mark.engine
CHUNKED = ["chunked@512", "chunked@256", "chunked@128", "chunked@100"]
SCENARIOS = ["full", *CHUNKED, "cold", "warm", "warm-2"]
TASK = [f"gsm8k/{scenario}" for scenario in SCENARIOS]
BLIND = {("logprobs_close", "chunked@512")}
"""Greedy text of 16 tokens survives the loss of the state where an edge is that far away."""


def test_a_healthy_engine_passes_with_exit_code_0(clean_run: Invocation) -> None:
    assert clean_run.code == 0, clean_run.out + clean_run.err
    assert clean_run.report["verdict"] == "PASS"
    others = {verdict for key, verdict in clean_run.verdicts().items() if key not in BLIND}
    assert others == {"PASS"}


def test_every_check_would_have_seen_a_lost_state(clean_run: Invocation) -> None:
    found = clean_run.report["sensitivity"]
    assert all(one["fired"] > 0 for one in found)
    assert {(one["check"], one["scenario"]) for one in found if not one["seen"]} == BLIND
    without = ("kernels", "effective_config", "numeric_floor")
    answered = {key for key in clean_run.verdicts() if key[0] not in without}
    references = {("state_equivalence", "full"), ("task_score", "gsm8k/full")}
    assert {(one["check"], one["scenario"]) for one in found} == answered - references


def test_a_blind_check_is_vacuous_and_outweighed(clean_run: Invocation) -> None:
    for check, scenario in BLIND:
        assert clean_run.check(check, scenario)["verdict"] == "VACUOUS"
        (one,) = (
            o
            for o in clean_run.report["sensitivity"]
            if (o["check"], o["scenario"]) == (check, scenario)
        )
        assert one["outweighed_by"] == "chunked_prefill"


def test_every_check_answers_for_every_scenario_that_it_is_about(clean_run: Invocation) -> None:
    expected = {("logprobs_close", s) for s in SCENARIOS[1:]}
    expected |= {("chunked_prefill", s) for s in CHUNKED}
    expected |= {("prefix_cache", s) for s in ("cold", "warm", "warm-2")}
    expected |= {("numeric_floor", "full-again")}
    expected |= {("task_score", s) for s in TASK}
    expected |= {("effective_config", e) for e in ("plain", "caching")}
    expected |= {("state_equivalence", s) for s in SCENARIOS}
    hygiene = ("full", "chunked@100-tight", "cold", "warm", "cold-tight")
    expected |= {("cache_hygiene", f"{s}-nan") for s in hygiene}
    found = set(clean_run.verdicts())
    assert {check for check, _ in found - expected} == {"kernels"}
    assert found >= expected


def test_report_json_holds_to_the_schema_beside_it(clean_run: Invocation) -> None:
    schema = json.loads((clean_run.folder / "report.schema.json").read_text())
    jsonschema.validate(clean_run.report, schema)
    assert clean_run.report["exit_code"] == 0
    assert clean_run.report["model"]["architecture"] == "Qwen3_5ForCausalLM"
    assert clean_run.report["model"]["layers"] == {"attention": 1, "gdn_attn": 3}
    assert len(clean_run.report["model"]["weights_digest"]) == 64


def test_the_terminal_report_is_readable_at_80_columns_without_colour(
    clean_run: Invocation,
) -> None:
    assert "PASS" in clean_run.out and "\x1b" not in clean_run.out
    assert max(map(len, clean_run.out.splitlines())) <= 80
    for scenario in [*SCENARIOS, *TASK]:
        assert scenario in clean_run.out


def test_the_other_forms_say_what_the_report_says(clean_run: Invocation) -> None:
    files = {form: clean_run.folder.with_name(f"clean.{form}") for form in FORMS}
    counts = JUnitXml.fromstring(files["junit"].read_bytes())
    answers = clean_run.report["checks"] + clean_run.report["scenarios"]
    assert (counts.tests, counts.failures, counts.errors) == (len(answers), 0, 0)
    metrics = pd.read_csv(files["csv"])
    assert set(metrics["check"]) == {check for check, _ in clean_run.verdicts()}
    assert files["markdown"].read_text(encoding="utf-8").startswith("## PASS: pocket")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_proof_holds_and_every_trace_is_there(clean_run: Invocation, scenario: str) -> None:
    entry = next(s for s in clean_run.report["scenarios"] if s["name"] == scenario)
    assert entry["status"] == "done"
    assert entry["proofs"] and all(p["holds"] for p in entry["proofs"])
    trace = read_trace(clean_run.folder / entry["trace"])
    assert trace.record.scenario == scenario
    assert set(trace.rows["leg"]) >= {"prompt", "decode", "free"}


def test_the_reference_prefills_every_prompt_in_one_step(clean_run: Invocation) -> None:
    record = read_trace(clean_run.folder / "traces/full.parquet").record
    assert [len(r.prefill()) for r in record.requests] == [1] * 10


@pytest.mark.parametrize("budget", [512, 256, 128, 100])
def test_the_scheduler_really_cut_the_prompts(clean_run: Invocation, budget: int) -> None:
    record = read_trace(clean_run.folder / f"traces/chunked@{budget}.parquet").record
    for request in record.requests:
        sizes = [piece.tokens for piece in request.prefill()]
        assert max(sizes) <= budget and sum(sizes) == request.prompt_tokens
        if request.prompt_tokens > 2 * budget:
            assert len(sizes) >= 3


def test_cold_finds_nothing_and_warm_finds_what_the_block_size_predicts(
    clean_run: Invocation,
) -> None:
    cold = read_trace(clean_run.folder / "traces/cold.parquet").record
    assert {r.cached_tokens for r in cold.requests} == {0}
    for name in ("warm", "warm-2"):
        warm = read_trace(clean_run.folder / f"traces/{name}.parquet").record
        block = warm.block_size
        assert [r.cached_tokens for r in warm.requests] == [
            (r.prompt_tokens - 1) // block * block for r in warm.requests
        ]


def test_cached_positions_hold_nothing_and_the_suffix_holds_numbers(clean_run: Invocation) -> None:
    rows = read_trace(clean_run.folder / "traces/warm.parquet").rows
    prompt = rows[rows["leg"] == "prompt"]
    cached = prompt["cached"].astype(bool)
    assert cached.sum() > 1000 and (~cached).sum() > 500
    assert prompt.loc[cached, "logprob"].isna().all()
    assert prompt.loc[~cached, "logprob"].map(math.isfinite).all()


def test_the_decode_leg_is_the_path_that_the_reference_took(clean_run: Invocation) -> None:
    def tokens(name: str, leg: str) -> pd.Series:
        rows = read_trace(clean_run.folder / f"traces/{name}.parquet").rows
        rows = rows[rows["leg"] == leg].sort_values(["request", "position"])
        return rows["token"].reset_index(drop=True)

    reference = tokens("full", "free")
    for name in SCENARIOS[1:]:
        assert tokens(name, "decode").equals(reference), name


def test_the_first_chunk_is_bit_identical_to_the_reference(clean_run: Invocation) -> None:
    for name in CHUNKED:
        metrics = clean_run.check("chunked_prefill", name)["metrics"]
        assert metrics["prompt.first.max"] == 0.0
        assert metrics["prompt.later.max"] > 0.0


def test_the_reference_again_takes_other_steps_and_the_other_order(clean_run: Invocation) -> None:
    full, again = (
        read_trace(clean_run.folder / f"traces/{name}.parquet").record
        for name in ("full", "full-again")
    )
    first_steps = [r.prefill()[0].step for r in again.requests]
    assert [r.request for r in again.requests] == [r.request for r in full.requests][::-1]
    assert len(set(first_steps)) > len({r.prefill()[0].step for r in full.requests})
    assert first_steps == sorted(first_steps)


def test_the_contrasts_of_a_healthy_engine_are_near_one(clean_run: Invocation) -> None:
    for name in CHUNKED:
        metrics = clean_run.check("chunked_prefill", name)["metrics"]
        assert metrics["contrast.first"] == 0.0
        assert 0.5 < metrics["contrast.edge"] < 2
        assert metrics.get("contrast.budget", 1.0) < 2
    assert "Noise and contrasts" in clean_run.out


def test_cut_points_stand_around_every_block_boundary(clean_run: Invocation) -> None:
    trace = read_trace(clean_run.folder / "traces/warm.parquet")
    cuts = trace.rows[trace.rows["leg"] == "cut"]
    block = trace.record.block_size
    longest = cuts[cuts["request"] == 0]["position"].tolist()
    assert longest == [
        edge + offset
        for edge in range(block, 1153, block)
        for offset in (1, 2, 3, block // 2, block)
        if edge + offset < 1153
    ]


def test_engine_logs_go_to_files_and_say_what_was_done_about_native_libraries(
    clean_run: Invocation,
) -> None:
    plain = (clean_run.folder / "logs/plain.log").read_text()
    assert "INFO" in plain
    assert "INFO" not in clean_run.out
    notes = clean_run.report["engine"]["notes"]["plain"]
    for note in notes:
        if note.startswith("The native library"):
            assert note in plain


def test_the_page_draws_every_prompt_of_every_scenario_with_its_edges(
    clean_run: Invocation,
) -> None:
    curves = clean_run.report["differences"]["curves"]
    assert {c["scenario"] for c in curves} == {"full-again", *SCENARIOS[1:]}
    for curve in curves:
        if curve["scenario"] in CHUNKED:
            budget = int(curve["scenario"].removeprefix("chunked@"))
            assert len(curve["edges"]) >= 2
            assert max(b - a for a, b in itertools.pairwise(curve["edges"])) <= budget
        assert not curve["broken"]
    assert any(max(filter(None, c["largest"]), default=0) > 0.01 for c in curves)
    page = lxml.html.document_fromstring(clean_run.folder.with_name("clean.html").read_bytes())
    drawn = page.find_class("area")
    # Scenarios with the same curves share a panel.
    assert len(drawn) == len({json.dumps({**c, "scenario": ""}) for c in curves})
