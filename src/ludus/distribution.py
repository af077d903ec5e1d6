"""The name under which pip installs Ludus; the import name is ``ludus``.

On PyPI, ``ludus`` is the project of other people, so everything that tells a user what to install
takes the name from here.
"""

from __future__ import annotations

__all__ = ["DISTRIBUTION", "pip_install", "requirement"]

DISTRIBUTION = "ludus-gym"


def requirement(*extras: str) -> str:
    """Return Ludus with these extras, as pip and ``pyproject.toml`` write it."""
    return f"{DISTRIBUTION}[{','.join(extras)}]" if extras else DISTRIBUTION


def pip_install(*extras: str, upgrade: bool = False) -> str:
    """Return the command that installs Ludus with these extras."""
    wanted = f"'{requirement(*extras)}'" if extras else DISTRIBUTION
    return f"pip install {'--upgrade ' if upgrade else ''}{wanted}"
