"""The program that runs inside a sandbox. The host relies on none of its checks."""

from __future__ import annotations

__all__: list[str] = []
