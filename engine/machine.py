"""What a run needs of the machine: memory, disk, and the hub where the model is there."""

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linattn_verify.traces.finding import Finding, note, ok, problem

PROCESS_GIB = 2.0
"""What an engine process takes beside weights and pool, in round numbers: the largest process of
`run --only chunked_prefill --budgets 256` of the pocket model peaked at 3.0 GiB, with some of its
pool of 2 GiB in use."""
RUN_GIB, LEAST_GIB = 4.0, 0.5
"""Disk that a run may need with its states, and below which it hardly starts."""
HUB = "https://huggingface.co"


@dataclass(frozen=True)
class Wanted:
    """What a run would ask of the machine."""

    model: str
    """The model as it was named."""
    folder: Path | None
    """Its folder; None where it comes from the hub."""
    weights: int | None
    """Bytes of its weights; None where they are not here."""
    pool_gib: float
    """The profile's kv_cache_gib."""


def memory(wanted: Wanted, available: int) -> Finding:
    """`available`: bytes that may still be used."""
    free = available / 2**30
    if wanted.weights is None:
        found = f"{free:.1f} GiB free; pool {wanted.pool_gib:g} GiB; weights not known yet"
        fix = "Run doctor again once the model is in the hub's cache, or give its folder."
        return note("memory", found, "whether the model fits cannot be said", fix)
    weights = wanted.weights / 2**30
    needed = weights + wanted.pool_gib + PROCESS_GIB
    found = (
        f"{free:.1f} GiB free; {needed:.1f} GiB wanted (weights {weights:.1f}, pool "
        f"{wanted.pool_gib:g}, process {PROCESS_GIB:g})"
    )
    if free >= needed:
        return ok("memory", found, "the model fits")
    means = "the engine is ended by the system once memory runs out"
    fix = "A smaller kv_cache_gib in a profile, a smaller model, or a machine with more memory."
    if free >= weights + PROCESS_GIB:
        return note("memory", found, f"{means}, or the pool is smaller than asked for", fix)
    return problem("memory", found, means, fix)


def disk(folder: Path) -> Finding:
    """Where runs are written."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free / 2**30
    found = f"{free:.1f} GiB free in {there}"
    if not os.access(there, os.W_OK):
        return problem("disk", found, "runs cannot be written there", "Give --out another folder.")
    if free >= RUN_GIB:
        return ok("disk", found, "enough for a run with its traces and states")
    means = "traces and states may not fit: a run ends with an ERROR once the disk is full"
    fix = "Free some space, give --out another disk, or a smaller states.gib in a profile."
    return (note if free >= LEAST_GIB else problem)("disk", found, means, fix)


def hub(wanted: Wanted, environment: dict[str, str], timeout: float = 5.0) -> Finding:
    """Whether the model can be had."""
    if wanted.folder is not None:
        return ok("hub", f"not needed: {wanted.folder}", "the model is on this machine")
    cached = next((path for path in _cached(wanted.model, environment) if path.exists()), None)
    if cached:
        return ok("hub", f"in the cache: {cached}", "the model is on this machine")
    fix = f"Give the folder of {wanted.model}, or a way to the hub (HF_ENDPOINT, HTTPS_PROXY)."
    if environment.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return problem("hub", "HF_HUB_OFFLINE is set", "the model is not on this machine", fix)
    address = environment.get("HF_ENDPOINT", HUB)
    try:
        request = urllib.request.Request(address, method="HEAD")
        urllib.request.urlopen(request, timeout=timeout).close()
    except urllib.error.HTTPError:
        pass  # it answers
    except (OSError, ValueError) as error:
        return problem("hub", f"{address}: {error}", "the model cannot be fetched", fix)
    return ok("hub", f"{address} answers", f"{wanted.model} is fetched from there")


def _cached(model: str, environment: dict[str, str]) -> Iterator[Path]:
    """Where the hub's own library keeps it."""
    name = f"models--{model.replace('/', '--')}"
    home = Path(environment.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    yield Path(environment.get("HF_HUB_CACHE", home / "hub")).expanduser() / name / "snapshots"
