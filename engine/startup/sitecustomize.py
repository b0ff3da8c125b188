"""Applies `linattn_verify.engine.native_libs` in Python processes that the engine starts.

Python imports a module of this name at start-up. It uses the standard library alone, and hands
over to a sitecustomize that the user may have.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

_keep: list[Any] = []


class _DeclareBeforeImport(importlib.abc.MetaPathFinder):
    """Declares torchvision's two operators just before torchvision is first looked for."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> None:
        if fullname != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        library = torch.library.Library("torchvision", "FRAGMENT")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _keep.append(library)


def apply(packages: list[str]) -> None:
    """Hide the packages named, but torchvision, which stays importable without its kernels."""
    for package in packages:
        if package == "torchvision":
            if not any(isinstance(f, _DeclareBeforeImport) for f in sys.meta_path):
                sys.meta_path.insert(0, _DeclareBeforeImport())
        else:
            # None in sys.modules: find_spec answers "not there", import raises ImportError.
            sys.modules.setdefault(package, None)  # type: ignore[arg-type]


def _hand_over() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    apply([p for p in os.environ.get("LINATTN_VERIFY_BROKEN_NATIVE", "").split(",") if p])
    _hand_over()
