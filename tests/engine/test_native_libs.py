"""Media packages with a broken native library must not take text models down."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from linattn_verify.engine.native_libs import BROKEN, BrokenLibrary, shield

FAKE_TORCH = """
defined = []

class Library:
    def __init__(self, namespace, kind):
        self.namespace = namespace

    def define(self, schema):
        defined.append(f"{self.namespace}::{schema.split('(')[0]}")
"""
FAKE_VISION = """
import torch

assert "torchvision::nms" in torch.library.defined, "operator torchvision::nms does not exist"
"""
LOOK = """
import importlib.util, json, subprocess, sys

def there(name):
    return importlib.util.find_spec(name) is not None

def usable(name):
    try:
        __import__(name)
        return True
    except Exception:
        return False

NAMES = ("torchvision", "torchaudio", "torchcodec")
def seen():
    return {name: [there(name), usable(name)] for name in NAMES}
"""
SHIELDED = f"""
{LOOK}
from linattn_verify.engine.native_libs import find_broken, shield

broken = find_broken()
before = there("torchaudio")
shield(broken)
shield(broken)
look = {LOOK!r} + "\\nprint(json.dumps(seen()))"
child = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
deeper = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {{look!r}}])"
grand = subprocess.run([sys.executable, "-c", deeper], capture_output=True, text=True)
print(json.dumps({{
    "broken": [b.package for b in broken],
    "notes": [b.note() for b in broken],
    "here": seen(),
    "child": child.stdout, "grandchild": grand.stdout,
    "errors": child.stderr + grand.stderr,
}}))
"""
THIS_MACHINE = f"""
{LOOK}
from linattn_verify.engine.native_libs import find_broken, shield

broken = find_broken()
shield(broken)
look = {LOOK!r} + "\\nprint(json.dumps(seen()))"
child = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
print(json.dumps({{
    "broken": [b.package for b in broken],
    "notes": [b.note() for b in broken],
    "here": seen(),
    "child": json.loads(child.stdout),
}}))
"""


def package(folder: Path, name: str, code: str = "", *libraries: str) -> None:
    """A package whose native libraries are no libraries."""
    home = folder / name
    home.mkdir()
    (home / "__init__.py").write_text(code)
    for library in libraries:
        (home / library).parent.mkdir(exist_ok=True)
        (home / library).write_bytes(b"not an ELF file")


def answer(code: str, *paths: Path) -> dict[str, Any]:
    """What a fresh Python prints as JSON, with `paths` before everything else."""
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), *inherited])},
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """A torch that remembers definitions, and a torchvision that needs them."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    package(folder, "torch", "from torch import library\n")
    (folder / "torch" / "library.py").write_text(FAKE_TORCH)
    package(folder, "torchvision", FAKE_VISION, "_C.so")
    package(folder, "torchaudio", "raise OSError('no library')", "lib/_torchaudio.abi3.so")
    package(folder, "torchcodec", "raise OSError('no library')", "libtorchcodec_image9.so")
    return folder


def test_broken_packages_are_found_shielded_and_stay_so_in_processes_below(fakes: Path) -> None:
    found = answer(SHIELDED, fakes)
    assert found["broken"] == ["torchvision", "torchaudio", "torchcodec"]
    expected = {
        "torchvision": [True, True],
        "torchaudio": [False, False],
        "torchcodec": [False, False],
    }
    assert found["errors"] == ""
    assert found["here"] == expected
    assert json.loads(found["child"]) == expected
    assert json.loads(found["grandchild"]) == expected


def test_without_the_shield_they_are_as_broken_as_they_look(fakes: Path) -> None:
    """Or else the test above would show nothing."""
    seen = answer(f"{LOOK}\nprint(json.dumps(seen()))", fakes)
    assert seen == {name: [True, False] for name in ("torchvision", "torchaudio", "torchcodec")}


def test_a_package_whose_library_loads_is_left_alone(fakes: Path) -> None:
    import _ctypes  # a real extension module, for its file

    assert _ctypes.__file__ is not None
    for library in fakes.glob("*/**/*.so"):
        library.unlink()
        library.symlink_to(_ctypes.__file__)
    found = answer(SHIELDED, fakes)
    assert found["broken"] == []
    assert json.loads(found["child"])["torchaudio"][0] is True
    assert json.loads(found["child"])["torchvision"] == [True, False]  # nobody declared for it


def test_a_package_without_native_libraries_is_not_broken(fakes: Path) -> None:
    for library in fakes.glob("*/**/*.so"):
        library.unlink()
    assert answer(SHIELDED, fakes)["broken"] == []


def test_a_users_own_sitecustomize_still_runs(fakes: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('the user was here')\n")
    found = answer(SHIELDED, own, fakes)
    first, second = found["child"].splitlines()
    assert first == "the user was here"
    assert json.loads(second)["torchvision"] == [True, True]


def test_a_users_sitecustomize_that_fails_does_not_undo_the_shield(
    fakes: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("raise RuntimeError('the user erred')\n")
    found = answer(SHIELDED, own, fakes)
    assert "the user erred" in found["errors"]
    assert json.loads(found["child"])["torchvision"] == [True, True]


def test_nothing_broken_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BROKEN, raising=False)
    before = (dict(os.environ), list(sys.meta_path))
    shield([])
    assert (dict(os.environ), list(sys.meta_path)) == before


def test_the_notes_say_which_why_and_what_is_done() -> None:
    vision = BrokenLibrary("torchvision", "libmade.so: not there").note()
    assert "native library of torchvision cannot be loaded (libmade.so: not there)" in vision
    assert "nms and qnms are declared without kernels" in vision
    audio = BrokenLibrary("torchaudio", "libmade.so: not there").note()
    assert "torchaudio" in audio and "it is hidden" in audio and "nms" not in audio


def installed(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of the files that a careless remedy would touch, but Python's caches."""
    places = [folder, *(folder / name for name in ("torchvision", "torchaudio", "torchcodec"))]
    files = [f for place in places if place.is_dir() for f in place.iterdir() if f.is_file()]
    return {str(f): (f.stat().st_size, f.stat().st_mtime_ns) for f in files}


def test_this_machines_own_torchvision_can_be_imported() -> None:
    """Beside the torch that is really installed."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        pytest.skip("no torchvision is installed")
    packages = Path(spec.origin).parent.parent
    before = installed(packages)
    found = answer(THIS_MACHINE)
    if not found["broken"]:
        pytest.skip("every native library loads here")
    assert found["child"]["torchvision"] == [True, True]
    assert found["child"] == found["here"]
    for name in {"torchaudio", "torchcodec"} & set(found["broken"]):
        assert found["here"][name] == [False, False]
    assert installed(packages) == before
    assert len(found["notes"]) == len(found["broken"])
