"""An engine process from outside, with a small child that speaks the protocol, well or badly."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from linattn_verify.engine import process as module
from linattn_verify.engine.messages import Load, Progress, Ran
from linattn_verify.engine.process import TAIL_LINES, EngineFailure, EngineProcess
from linattn_verify.traces.outcome import Status

CHILD = '''
"""Does what the model's name says."""
import json, os, resource, signal, subprocess, sys, time

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
commands, replies = os.fdopen(int(sys.argv[1])), int(sys.argv[2])


def say(text):
    os.write(replies, text.encode())


def ran(name):
    return json.dumps({"type": "ran", "scenario": name}) + "\\n"


def progress(done):
    return json.dumps({"type": "progress", "scenario": "a", "done": done, "total": 7}) + "\\n"


def nobody(session):
    """A process of our own that outlives us unless somebody ends it."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    print("grandchild", subprocess.Popen(command, start_new_session=session).pid, flush=True)


def die(number):
    os.kill(os.getpid(), number)


def reply(): say(ran("one"))


def in_pieces():
    say(progress(2) + progress(5) + ran("pieces")[:9])
    time.sleep(0.1)
    say(ran("pieces")[9:])


def grows():
    for done in range(1, 7):
        time.sleep(0.4)
        say(progress(done))
    say(ran("grown"))


def stands_still():
    say(progress(3))
    for _ in range(90):
        time.sleep(0.1)
        say(progress(2) + progress(3))
    say(ran("stood still"))


def hang():
    nobody(True)
    nobody(False)
    print("now it hangs", flush=True)
    time.sleep(600)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(ran("stubborn"))
    time.sleep(600)


def dies_with_family():
    nobody(True)
    say(progress(1))
    time.sleep(0.3)
    die(signal.SIGKILL)


def dies_at_once():
    nobody(False)
    die(signal.SIGKILL)


def killed():
    print("\\n".join(f"line {i}" for i in range(99)), flush=True)
    die(signal.SIGKILL)


def segfault(): die(signal.SIGSEGV)
def leaves(): sys.exit(7)


def dies_in_mid_reply():
    say(ran("half")[:11])
    sys.exit(7)


def last_words():
    say(ran("last"))
    os._exit(0)


def failed():
    print("the reason", flush=True)
    say(json.dumps({"type": "failed", "status": "unsupported", "message": "no", "usage": True})
        + "\\n")


def garbage(): say("INFO: something printed here\\n")
def unknown(): say('{"type": "sonnet"}\\n')


def silence():
    os.close(replies)
    time.sleep(600)


for line in commands:
    command = json.loads(line)
    if command["type"] == "stop":
        print("stopped as asked", flush=True)
        sys.exit(0)
    globals()[command["model"]]()
'''

Start = Callable[[], EngineProcess]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts the small child; ends it after the test."""
    (tmp_path / "a_small_child.py").write_text(CHILD)
    monkeypatch.setattr(module, "_CHILD", "a_small_child")
    started: list[EngineProcess] = []

    def start() -> EngineProcess:
        log = tmp_path / "logs" / f"{len(started)}.log"
        started.append(EngineProcess(log, {"PYTHONPATH": str(tmp_path)}))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def task(name: str) -> Load:
    return Load(engine="made", model=name, engine_args={})


def failure(process: EngineProcess, name: str, timeout: float = 30) -> EngineFailure:
    with pytest.raises(EngineFailure) as caught:
        process.ask(task(name), timeout)
    return caught.value


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


def grandchildren(process: EngineProcess) -> list[int]:
    lines = process.log.read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("grandchild")]


def test_a_command_is_answered_and_another_after_it(start: Start) -> None:
    process = start()
    for _ in range(2):
        assert process.ask(task("reply"), 30) == Ran(scenario="one")


def test_progress_is_passed_on_and_a_reply_in_pieces_is_put_together(start: Start) -> None:
    seen: list[Progress] = []
    reply = start().ask(task("in_pieces"), 30, seen.append)
    assert [(p.done, p.total) for p in seen] == [(2, 7), (5, 7)]
    assert reply == Ran(scenario="pieces")


def test_the_environment_reaches_the_child_on_top_of_ours(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINATTN_TEST_OURS", "kept")
    environment = psutil.Process(start().pid).environ()
    assert environment["LINATTN_TEST_OURS"] == "kept"
    assert environment["PYTHONPATH"] != os.environ.get("PYTHONPATH")


def test_what_takes_too_long_is_ended_with_all_its_descendants(start: Start) -> None:
    process = start()
    assert process.ask(task("reply"), 30)  # it is up
    began = time.monotonic()
    said = failure(process, "hang", timeout=2.5)
    assert time.monotonic() - began < 10
    assert said.failure.status is Status.TIMED_OUT
    assert "no progress of 'load' within 2.5 s" in said.failure.message
    assert said.log_tail[-1] == "now it hangs"
    family = grandchildren(process)
    assert len(family) == 2  # one of them in a session of its own
    assert [pid for pid in (process.pid, *family) if alive(pid)] == []


def test_progress_that_grows_buys_time(start: Start) -> None:
    """2.4 s in all, never more than 0.4 s without progress."""
    process = start()
    assert process.ask(task("reply"), 30)
    began = time.monotonic()
    assert process.ask(task("grows"), 1.5) == Ran(scenario="grown")
    assert time.monotonic() - began > 2


def test_progress_that_does_not_grow_buys_none(start: Start) -> None:
    process = start()
    assert process.ask(task("reply"), 30)
    seen: list[Progress] = []
    began = time.monotonic()
    with pytest.raises(EngineFailure) as caught:
        process.ask(task("stands_still"), 1.5, seen.append)
    assert time.monotonic() - began < 8
    assert caught.value.failure.status is Status.TIMED_OUT
    assert "no progress of 'load' within 1.5 s" in caught.value.failure.message
    assert len(seen) > 4  # it was heard all along
    assert {p.done for p in seen} == {2, 3}
    assert not alive(process.pid)


def test_a_process_that_dies_takes_its_descendants_with_it(start: Start) -> None:
    process = start()
    said = failure(process, "dies_with_family")
    assert said.failure.status is Status.CRASHED
    (left,) = grandchildren(process)
    assert wait_until(lambda: not alive(left), 5)


def test_a_process_that_dies_before_anybody_saw_its_child_takes_it_along(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child is in its process group, which ends as a whole."""
    process = start()
    monkeypatch.setattr(process, "_note_descendants", lambda: None)
    failure(process, "dies_at_once")
    (left,) = grandchildren(process)
    assert wait_until(lambda: not alive(left), 5)


DEATHS = {
    "killed": "the engine process died: signal SIGKILL "
    "(which is how a machine short of memory ends processes)",
    "segfault": "the engine process died: signal SIGSEGV",
    "leaves": "the engine process died: exit code 7",
    "dies_in_mid_reply": "the engine process died: exit code 7",
}


@pytest.mark.parametrize(("name", "message"), DEATHS.items(), ids=DEATHS.keys())
def test_a_death_is_told_by_its_signal_or_code(start: Start, name: str, message: str) -> None:
    said = failure(start(), name)
    assert (said.failure.status, said.failure.message) == (Status.CRASHED, message)
    assert str(said) == message


def test_a_death_is_noticed_at_once_and_shows_the_end_of_the_log(start: Start) -> None:
    process = start()
    assert process.ask(task("reply"), 30)
    began = time.monotonic()
    said = failure(process, "killed", timeout=300)
    assert time.monotonic() - began < 10
    assert said.log_tail == tuple(f"line {i}" for i in range(99 - TAIL_LINES, 99))


def test_a_question_to_a_dead_process_says_how_it_died(start: Start) -> None:
    process = start()
    os.kill(process.pid, signal.SIGSEGV)
    wait_until(lambda: not alive(process.pid), 10)
    assert failure(process, "reply").failure.message.endswith("signal SIGSEGV")


def test_an_answer_counts_even_if_the_process_ended_right_after_it(start: Start) -> None:
    assert start().ask(task("last_words"), 30) == Ran(scenario="last")


def test_an_answer_between_a_look_at_the_pipe_and_one_at_the_process_is_not_lost(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start()
    looks: list[float | None] = []

    class TooEarly(selectors.DefaultSelector):
        """Sees an empty pipe at first; then the child answers and ends."""

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            looks.append(timeout)
            if len(looks) > 1:
                return super().select(timeout)
            wait_until(lambda: not alive(process.pid), 10)
            return []

    monkeypatch.setattr(selectors, "DefaultSelector", TooEarly)
    assert process.ask(task("last_words"), 30) == Ran(scenario="last")


def test_a_failure_that_the_child_reports_is_raised_as_it_said(start: Start) -> None:
    process = start()
    said = failure(process, "failed")
    assert (said.failure.status, said.failure.message) == (Status.UNSUPPORTED, "no")
    assert said.failure.usage
    assert said.log_tail == ("the reason",)
    assert alive(process.pid)


@pytest.mark.parametrize(
    ("name", "shown"), [("garbage", "INFO: something printed here"), ("unknown", "sonnet")]
)
def test_what_is_no_reply_is_an_error_and_ends_the_process(
    start: Start, name: str, shown: str
) -> None:
    process = start()
    said = failure(process, name)
    assert said.failure.status is Status.ERROR
    assert shown in said.failure.message
    assert not alive(process.pid)


def test_a_child_that_closes_its_pipe_does_not_stay(start: Start) -> None:
    process = start()
    assert failure(process, "silence").failure.status in (Status.TIMED_OUT, Status.CRASHED)
    assert not alive(process.pid)


def test_leaving_the_block_asks_the_child_to_end(start: Start) -> None:
    with start() as process:
        process.ask(task("reply"), 30)
        assert alive(process.pid)
    assert process.tail() == ("stopped as asked",)
    assert not alive(process.pid)


def test_leaving_the_block_by_an_error_does_not_wait_for_the_child(start: Start) -> None:
    with pytest.raises(KeyError), start() as process:
        process.ask(task("reply"), 30)
        raise KeyError
    assert process.tail() == ()
    assert not alive(process.pid)


def test_a_child_that_does_not_listen_is_ended_all_the_same(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GRACE", 0.3)
    process = start()
    process.ask(task("stubborn"), 30)
    process.stop()
    assert not alive(process.pid)


def test_ending_twice_is_harmless_and_leaves_no_open_pipe(start: Start) -> None:
    before = len(os.listdir("/proc/self/fd"))
    process = start()
    process.kill()
    process.kill()
    process.stop()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_tail_of_a_log_that_is_not_text_or_not_there(start: Start) -> None:
    process = start()
    process.kill()
    process.log.write_bytes(b"\xff one\ntwo")
    assert process.tail() == ("� one", "two")
    process.log.unlink()
    assert process.tail() == ()


PARENT = """
import sys, time
from pathlib import Path
from linattn_verify.engine.process import EngineProcess

process = EngineProcess(Path(sys.argv[1]), {})
print(process.pid, flush=True)
time.sleep(600)
"""


def test_a_killed_parent_leaves_no_engine_process_behind(tmp_path: Path) -> None:
    """With the real child, which imports no engine until it is asked to load one."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        assert alive(child)
        assert "linattn_verify.engine.child" in psutil.Process(child).cmdline()
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        assert wait_until(lambda: not alive(child), 90)
    finally:
        parent.kill()
        parent.communicate()
        if alive(child):
            os.kill(child, signal.SIGKILL)


def test_the_real_child_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    process = EngineProcess(tmp_path / "log", {})
    with process:
        pass
    assert not alive(process.pid)
    assert "Traceback" not in process.log.read_text()
