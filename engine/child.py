"""The engine process: reads commands, drives vLLM, answers. One engine, one process."""

import logging
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

import psutil

from linattn_verify.configs.errors import UsageError
from linattn_verify.engine.checkpoint import prepare
from linattn_verify.engine.failures import failed, usage
from linattn_verify.engine.messages import (
    COMMANDS,
    Chat,
    Command,
    Encode,
    EngineFacts,
    Failed,
    Load,
    Loaded,
    Prepare,
    Progress,
    Ran,
    Reply,
    Run,
    Serve,
    Stop,
)
from linattn_verify.engine.native_libs import find_broken, shield
from linattn_verify.engine.settings import ChangedSettings, resolved
from linattn_verify.engine.tokenizer import chat, encode
from linattn_verify.traces.observed import ATTENTION
from linattn_verify.traces.outcome import Status

_HERE = "linattn_verify.engine"


class Child:
    """Answers one command at a time on `replies`, a file descriptor."""

    def __init__(self, replies: int) -> None:
        self.replies = replies
        self.server: Any = None
        self.tokenizer: Any = None
        self.notes: list[str] = []

    def answer(self, command: Command) -> Reply:
        """Carry out `command`; what goes wrong becomes a Failed, never an exception."""
        try:
            match command:
                case Prepare():
                    prepared, self.tokenizer = prepare(command)
                    return prepared
                case Encode():
                    return encode(self.tokenizer, command)
                case Chat():
                    return chat(self.tokenizer, command)
                case Load():
                    return Loaded(facts=self.load(command))
                case Run() | Serve():
                    return self.serve(command)
                case Stop():
                    raise ValueError("there is no answer to stop")
        except UsageError as error:
            return usage(str(error))
        except Exception as error:
            logging.getLogger(__name__).exception("%s failed", command.type)
            return failed(error, Status.CRASHED)

    def load(self, command: Load) -> EngineFacts:
        """Start vLLM with our scheduler, worker extension and logits processor."""
        with ChangedSettings() as changed:
            from vllm import LLM

            from linattn_verify.engine.forcing import TokenForcer
            from linattn_verify.engine.serving import Server

            llm = LLM(
                model=command.model,
                **command.engine_args,
                scheduler_cls=f"{_HERE}.scheduler.RecordingScheduler",
                worker_extension_cls=f"{_HERE}.worker.WorkerExtension",
                logits_processors=[TokenForcer],
                logprobs_mode="raw_logprobs",
            )
        facts = _facts(llm, list(command.engine_args), self.notes, changed)
        self.server = Server(llm, command.engine, facts)
        return facts

    def serve(self, command: Run | Serve) -> Ran:
        """Serve one scenario."""
        name = command.scenario.name

        def progress(done: int, total: int) -> None:
            self.send(Progress(scenario=name, done=done, total=total))

        serve = self.server.run if isinstance(command, Run) else self.server.serve
        serve(command, progress)
        return Ran(scenario=name)

    def send(self, reply: Reply) -> None:
        """Write one reply as a line."""
        data = (reply.model_dump_json() + "\n").encode()
        while data:
            data = data[os.write(self.replies, data) :]


def _facts(
    llm: Any, requested: list[str], notes: list[str], changed: ChangedSettings
) -> EngineFacts:
    from linattn_verify.engine import environment
    from linattn_verify.engine.observe import observe

    config = llm.llm_engine.vllm_config
    layers = llm.collective_rpc("linattn_layers")[0]
    kinds = [layer["kind"] for layer in layers]
    settings = resolved(config, requested)
    cache = config.cache_config
    return EngineFacts(
        resolved=settings,
        notes=(*notes, *changed.lines),
        guards=tuple(changed.guards),
        observed=observe(llm, layers),
        block_size=getattr(cache, "cache_hit_alignment_tokens", None) or cache.block_size,
        prefix_caching=bool(cache.enable_prefix_caching),
        dtype=settings["dtype"],
        layers={kind: kinds.count(kind) for kind in sorted(set(kinds))},
        linear_attention=any(kind != ATTENTION for kind in kinds),
        versions=environment.versions(),
        cpu=environment.cpu(),
        kernel_path=tuple(environment.kernel_path(layers)),
    )


def _read_commands(descriptor: int, commands: "queue.SimpleQueue[Command]") -> None:
    """Feed commands to the main thread. When the parent is gone, so are this process and all its
    children: nothing is left behind, even if the parent was killed."""
    try:
        with os.fdopen(descriptor, encoding="utf-8") as lines:
            for line in lines:
                commands.put(COMMANDS.validate_json(line))
    finally:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                process.kill()
        os.killpg(os.getpgrp(), signal.SIGKILL)


def main(arguments: list[str]) -> None:
    """`arguments`: the file descriptors of commands and of replies."""
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    threading.Thread(target=_read_commands, args=(int(arguments[0]), commands), daemon=True).start()
    child = Child(int(arguments[1]))
    broken = find_broken()
    shield(broken)
    for item in broken:
        child.notes.append(item.note())
        print(f"linattn-verify: {item.note()}", flush=True)
    while not isinstance(command := commands.get(), Stop):
        reply = child.answer(command)
        child.send(reply)
        if isinstance(reply, Failed) and isinstance(command, Load | Run | Serve):
            break  # an engine that failed once is not trusted with another scenario
    sys.stdout.flush()
    # Everything is on disk; Python's way to end takes vLLM some 4 s, and nothing comes of it.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
