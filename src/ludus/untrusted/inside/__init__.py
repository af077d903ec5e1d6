"""The program that runs inside a sandbox. It is a convenience: nothing relies on what it checks."""

from __future__ import annotations

__all__: list[str] = []
