"""The distribution name of Ludus for pip; the import name is ``ludus``.

On PyPI, ``ludus`` is another project, so all installation messages use this name.
"""

from __future__ import annotations

__all__ = ["DISTRIBUTION", "pip_install", "requirement"]

DISTRIBUTION = "ludus-gym"


def requirement(*extras: str) -> str:
    """Return Ludus with extras as a pip requirement.

    >>> requirement("sb3", "video")
    'ludus-gym[sb3,video]'
    """
    return f"{DISTRIBUTION}[{','.join(extras)}]" if extras else DISTRIBUTION


def pip_install(*extras: str, upgrade: bool = False) -> str:
    """Return the command that installs Ludus with extras."""
    wanted = f"'{requirement(*extras)}'" if extras else DISTRIBUTION
    return f"pip install {'--upgrade ' if upgrade else ''}{wanted}"
