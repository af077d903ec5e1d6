"""The hash of the processor in the names of cache files.

It is computed from the operating system's description, because importing LLVM takes long. A file's
header has LLVM's description, which is compared when the code is loaded.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

__all__ = ["machine"]

_X86 = ("vendor_id", "cpu family", "model", "stepping", "flags")
_ARM = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")
_TELLING = (*_X86, *_ARM, "Features")


@cache
def machine() -> str:
    """Return a hash of the processor that code is compiled for."""
    import platform

    kind = f"{sys.platform}|{platform.machine()}|{_listed()}"
    return hashlib.sha256(kind.encode()).hexdigest()[:8]


def _listed() -> str:
    """Return Linux's description of each kind of processor, empty on other systems."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    kinds = set()
    for block in text.split("\n\n"):
        pairs = [line.split(":", 1) for line in block.splitlines() if ":" in line]
        known = {name.strip(): value.strip() for name, value in pairs}
        kinds.add(tuple(known.get(name, "") for name in _TELLING))
    kinds.discard(("",) * len(_TELLING))
    return repr(sorted(kinds))
