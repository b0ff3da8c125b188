"""Made runs, in which every number is known beforehand."""

import pytest

from tests.checks.aside_world import AsideWorld
from tests.checks.task_world import TaskWorld
from tests.checks.world import World


@pytest.fixture
def world() -> World:
    """A clean run."""
    return World()


@pytest.fixture
def whole() -> AsideWorld:
    """A clean run with states read and every scenario served again on NaN."""
    return AsideWorld()


@pytest.fixture
def tasks() -> TaskWorld:
    """A clean run of a task that generates, one request a question."""
    return TaskWorld()
