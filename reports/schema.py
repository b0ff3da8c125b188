"""The JSON Schema of report.json, with a description for every field."""

from typing import Any

from linattn_verify.reports.document import Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CLASSES = {
    "Verdict": "PASS; FAIL; INCONCLUSIVE: not enough data to tell; VACUOUS: the proof that the "
    "thing under test happened is missing; UNSUPPORTED: this engine or machine cannot do it; "
    "ERROR: this tool or the machine.",
    "Status": "done; crashed: the engine raised or died; timed out; unsupported: the engine or "
    "machine cannot do it; not run: something it builds on did not end well; error: this tool or "
    "the machine.",
    "Did": "off: switched off; set: set to another value; refused: the value asked for cannot be "
    "used; warned: left as it is, with a warning.",
    "Kind": "full: every prompt prefilled in one step, the reference; chunked: prompts cut by the "
    "token budget of a step; cold: prefix caching on with nothing to hit; warm: the same requests "
    "again, served from the cache.",
}
FIELDS = {
    "Proof": {
        "name": "The statement.",
        "expected": "What has to be seen for it to hold.",
        "observed": "What was read from the engine.",
        "holds": "Whether it holds.",
    },
    "LimitOutcome": {
        "value": "The metric's value; null where nothing could be measured, which never holds.",
        "limit": "The largest value that passes.",
        "origin": "Where the limit comes from.",
        "holds": "Whether the value is within the limit.",
        "margin": "Limit over value: above 1 holds; null where the value is 0 or null.",
    },
    "WorstToken": {
        "request": "Index of the prompt in the workload.",
        "prompt": "The prompt's name.",
        "leg": "What is compared: prompt, decode, free or cut.",
        "position": "Index of the predicted token in prompt and output.",
        "text": "The token as the tokenizer prints it: data, never markup.",
        "chunk": "Step of the request that computed it, 0 the first; null where unknown.",
        "edge_distance": "Tokens from the start of its chunk; null in the first chunk.",
        "reference_logprob": "The reference's log-probability, nats; null where not finite.",
        "candidate_logprob": "The candidate's log-probability, nats; null where not finite.",
        "delta": "candidate - reference, nats; null where either is not finite.",
        "note": "Which value is not finite, or what else there is to say.",
    },
}
"""Descriptions of what the report takes over from checks, plan and traces."""


def report_schema() -> dict[str, Any]:
    """The schema as plain data (JSON Schema 2020-12)."""
    schema = Report.model_json_schema(mode="serialization")
    for name, description in CLASSES.items():
        schema["$defs"][name]["description"] = description
    for name, fields in FIELDS.items():
        for field, description in fields.items():
            schema["$defs"][name]["properties"][field].setdefault("description", description)
    return {"$schema": DIALECT, **schema, "title": "linattn-verify report"}
