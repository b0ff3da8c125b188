"""Put on PYTHONPATH, breaks a repro script's plain vLLM as `engine.faults` breaks ours.

FAULT: the fault's name, or empty for none. FIRED: a file to which is added how often it struck.
"""

import atexit
import os
import sys
from typing import Any


def _install(worker: Any) -> None:
    from linattn_verify.engine.faults import Faults
    from linattn_verify.engine.steps import watch

    faults = Faults(worker.model_runner)
    watch(worker.model_runner, (faults,))
    faults.activate([os.environ["FAULT"]])
    atexit.register(_tell, faults)


def _tell(faults: Any) -> None:
    with open(os.environ["FIRED"], "a") as file:
        file.write(f"{sum(faults.fired.values())}\n")


def _break() -> None:
    import vllm

    load = vllm.LLM.__init__

    def broken(self: Any, *args: Any, **kwargs: Any) -> None:
        load(self, *args, **kwargs)
        self.collective_rpc(_install)

    vllm.LLM.__init__ = broken


if "--side" in sys.orig_argv:
    from linattn_verify.engine.native_libs import find_broken, shield

    shield(find_broken())  # the machine's, not the engine's
    if os.environ.get("FAULT"):
        _break()
