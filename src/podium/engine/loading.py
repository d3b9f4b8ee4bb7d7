"""Importing a user's file: once for as long as it does not change, so its state is shared by everything
in it (a workflow and a model function, say) and outlives a single run."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any


class _FreshLoader(SourceFileLoader):
    """Reads the source and never a bytecode cache: an edit within the same second would go unnoticed."""

    def path_stats(self, path: Any) -> Any:
        raise OSError("no bytecode for user files")


def load_module(file: Path) -> ModuleType:
    """The module of a Python file; whatever its import raises is passed on."""
    path = file.resolve()
    stat = path.stat()
    mark = hashlib.blake2b(f"{path}|{stat.st_mtime_ns}|{stat.st_size}".encode(), digest_size=8).hexdigest()
    name = f"podium_user_{path.stem}_{mark}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path, loader=_FreshLoader(name, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look their module up while it is imported
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module
