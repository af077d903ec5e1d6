"""Static analysis of source files, in a separate process.

Scanned files may be hostile, so the process has limits of time and memory
(:mod:`ludus.audit.scanning`) and does not import the rest of Ludus. So this package uses only the
standard library and relative imports.
"""

from __future__ import annotations

__all__: list[str] = []
