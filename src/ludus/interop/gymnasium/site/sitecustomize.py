"""Start-up module of Python processes that run with Ludus in place of Gymnasium.

Python imports only the first ``sitecustomize`` on its path, so this one runs the next one.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys


def _is_here(part: str) -> bool:
    return os.path.abspath(part) == os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def _run_next() -> None:
    rest = [part for part in sys.path if not _is_here(part)]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("LUDUS_AS_GYMNASIUM") == "1":
    try:
        import _ludus_alias
    except ModuleNotFoundError:
        sys.stderr.write(
            "LUDUS_AS_GYMNASIUM=1 is set, but Ludus is not installed for "
            f"{sys.executable}; Gymnasium is not replaced there.\n"
        )
    else:
        _ludus_alias.watch()
_run_next()
