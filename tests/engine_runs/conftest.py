"""Runs of the real engine that several files read."""

import pytest

from tests.conftest import Invocation, invoke
from tests.engine_runs.injected import INJECTED


@pytest.fixture(scope="session")
def faulty_run(tmp_path_factory: pytest.TempPathFactory) -> Invocation:
    """One run in which every scenario but the references has a fault of its own."""
    flags = [f for s, fault in INJECTED.items() for f in ("--inject", f"{s}={fault}")]
    budgets = ("--budgets", "512,384,256,192,128,100")
    folder = tmp_path_factory.mktemp("runs") / "faulty"
    flags += ["--no-mutations"]
    return invoke(folder, "--limit", "60", "--skip", "kernels", *budgets, *flags)
