"""Shows, with nothing but vLLM, that it serves the same tokens differently in two ways.

The candidate serves the prompts as CASE says and generates. The reference gets each prompt together
with what the candidate has generated, in one prefill step, alone and without prefix caching. Both
give a log-probability to every token, and those must agree but for rounding.

python repro.py [MODEL]: exit code 1 where they do not, 0 where they do.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

CASE: dict[str, Any] = {}

WINDOW = 16
"""Positions whose mean is looked at together: a lost convolution window hardly touches more."""


def main() -> int:
    """Run both sides, each in a process of its own, and compare."""
    if sys.argv[1:2] == ["--side"]:
        serve(*sys.argv[2:])
        return 0
    model = sys.argv[1] if len(sys.argv) > 1 else CASE["model"]
    with tempfile.TemporaryDirectory() as folder:
        sides: list[list[Any]] = []
        for side in ("candidate", "reference"):
            arguments = [side, model, folder]
            subprocess.run([sys.executable, __file__, "--side", *arguments], check=True)
            with open(os.path.join(folder, side)) as file:
                sides.append(json.load(file))
    wrong = False
    for index, (candidate, reference) in enumerate(zip(*sides, strict=True)):
        deltas = differences(candidate["logprobs"], reference["logprobs"])
        said, shown = judged(deltas, **CASE["limits"])
        wrong = wrong or shown
        print(f"prompt {index}, {len(CASE['prompts'][index])} tokens: {said}")
    print("The two ways of serving DIFFER." if wrong else "No difference beyond rounding.")
    return int(wrong)


def differences(
    candidate: dict[str, float | None], reference: dict[str, float | None]
) -> dict[int, float]:
    """|Δ log-probability| in nats by position, of all that the candidate has computed."""
    found = {}
    for position, logprob in candidate.items():
        other = reference[position]
        gap = math.nan if logprob is None or other is None else abs(logprob - other)
        found[int(position)] = gap
    return found


def judged(deltas: dict[int, float], mean: float, largest: float) -> tuple[str, bool]:
    """What the differences come to, and whether that is more than rounding: a value that is no
    number, one above `largest`, or a mean of 16 positions above `mean`, both nats."""
    if not deltas:
        return "nothing was compared", False
    ordered = [deltas[position] for position in sorted(deltas)]
    broken = [p for p in sorted(deltas) if not math.isfinite(deltas[p])]
    if broken:
        return f"NaN at {len(broken)} positions of {len(deltas)}, first {broken[0]}", True
    worst = max(deltas, key=deltas.__getitem__)
    mean_found = max(_means(ordered))
    said = (
        f"{len(deltas)} positions, largest |Δ| {deltas[worst]:.3g} nats at position {worst} "
        f"(limit {largest:g}), largest mean of {WINDOW} in a row {mean_found:.3g} (limit {mean:g})"
    )
    return said, deltas[worst] > largest or mean_found > mean


def _means(values: list[float]) -> Iterable[float]:
    size = min(WINDOW, len(values))
    return (sum(values[i : i + size]) / WINDOW for i in range(len(values) - size + 1))


def serve(side: str, model: str, folder: str) -> None:
    """One side in this process: its log-probabilities go to a file in `folder`."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    from vllm import LLM, SamplingParams

    llm = LLM(model=model, **CASE["engine"], **CASE[side])
    if side == "candidate":
        if CASE["fill_with_nan"]:
            llm.collective_rpc(fill_with_nan)
        prompts, tokens, rounds = CASE["prompts"], CASE["output_tokens"], CASE["rounds"]
    else:
        with open(os.path.join(folder, "candidate")) as file:
            prompts, tokens, rounds = [one["token_ids"] for one in json.load(file)], 1, 1
    sampling = SamplingParams(
        temperature=0.0,
        max_tokens=tokens,
        ignore_eos=True,
        detokenize=False,
        logprobs=0,
        prompt_logprobs=0,
        skip_reading_prefix_cache=False,
    )
    asks = [{"prompt_token_ids": p, "cache_salt": str(i)} for i, p in enumerate(prompts)]
    batches = [asks] if side == "candidate" else [[ask] for ask in asks]
    for _ in range(rounds):
        outputs = [one for batch in batches for one in llm.generate(batch, sampling)]
    with open(os.path.join(folder, side), "w") as file:
        json.dump([_answer(output) for output in outputs], file)


def _answer(output: Any) -> dict[str, Any]:
    """The prompt with what was generated, and log-probabilities by position, in nats."""
    completion = output.outputs[0]
    token_ids = [*output.prompt_token_ids, *completion.token_ids]
    entries = [*output.prompt_logprobs, *completion.logprobs]
    # What was read from the cache was not computed.
    first = (output.num_cached_tokens or 0) + 1
    logprobs = {p: entries[p][token_ids[p]].logprob for p in range(first, len(token_ids))}
    known = {p: value if math.isfinite(value) else None for p, value in logprobs.items()}
    return {"token_ids": token_ids, "logprobs": known}


def fill_with_nan(worker: Any) -> None:
    """Fill every cache tensor: memory that nobody has written must not matter."""
    layers = worker.model_runner.compilation_config.static_forward_context.values()
    for layer in layers:
        caches = getattr(layer, "kv_cache", ())
        for tensor in caches if isinstance(caches, (list, tuple)) else [caches]:
            tensor.fill_(math.nan)


if __name__ == "__main__":
    sys.exit(main())
