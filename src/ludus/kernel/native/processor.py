"""Which kind of processor code is compiled for, as part of a file's name.

The system is asked, not LLVM: asking LLVM takes as long as importing it. A file's header has what
LLVM says, which is compared when the code is loaded.
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
    """Return what Linux tells of each kind of processor; nothing on other systems."""
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
