"""``python -m``: runs ``python -m ludus ARGUMENTS`` with limits of memory and processor time."""

from __future__ import annotations

import os
import sys

from ludus.view.replaying.limits import apply_limits

__all__ = ["main"]


def main() -> None:
    """Apply the first two arguments as limits, and become the command of the others."""
    memory, cpu_seconds, *arguments = sys.argv[1:]
    apply_limits(int(memory), int(cpu_seconds))
    os.execv(sys.executable, [sys.executable, "-P", "-m", "ludus", *arguments])  # noqa: S606


if __name__ == "__main__":
    main()
