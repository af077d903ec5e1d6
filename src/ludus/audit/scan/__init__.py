"""What a source file does, told from its syntax tree; runs in a process of its own.

The files scanned may be hostile, so this package is started without the rest of Ludus, under limits
of time and memory (:mod:`ludus.audit.scanning`). It uses the standard library only, and relative
imports, because in that process it is not a part of Ludus.
"""

from __future__ import annotations

__all__: list[str] = []
