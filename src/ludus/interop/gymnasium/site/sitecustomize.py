"""Start-up module of Python processes that run with Ludus in place of Gymnasium or MLGym.

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


_VARIABLES = [
    name for name in ("LUDUS_AS_GYMNASIUM", "LUDUS_AS_MLGYM") if os.environ.get(name) == "1"
]
if _VARIABLES:
    try:
        import _ludus_alias
    except ModuleNotFoundError:
        sys.stderr.write(
            f"{' and '.join(_VARIABLES)}=1 is set, but Ludus is not installed for "
            f"{sys.executable}; nothing is replaced there.\n"
        )
    else:
        if "LUDUS_AS_GYMNASIUM" in _VARIABLES:
            _ludus_alias.watch()
        if "LUDUS_AS_MLGYM" in _VARIABLES:
            _ludus_alias.watch_mlgym()
_run_next()
