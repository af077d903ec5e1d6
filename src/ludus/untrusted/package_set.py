"""The distributions behind the modules that a task declares, with what they depend on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from ludus.distribution import DISTRIBUTION
from ludus.sandbox.linux.chosen_packages import canonical_name

__all__ = ["PackageSet"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Names under which well-known modules are installed.
_KNOWN = {"sklearn": "scikit-learn", "cv2": "opencv-python", "PIL": "pillow", "yaml": "PyYAML"}
# Used by Ludus where they are installed, to run kernels fast.
_ACCELERATORS = ("numba", "llvmlite")


@dataclass(frozen=True, slots=True)
class PackageSet:
    """Distributions that a sandbox sees.

    Attributes:
        rows: Canonical name, version and the SHA-256 of ``RECORD`` of each, sorted.
        missing: Declared modules that cannot be imported here.
    """

    rows: tuple[tuple[str, str, str], ...]
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, modules: Iterable[str]) -> PackageSet:
        """Find the distributions of modules, given by the names they are imported by."""
        tops = tuple(dict.fromkeys(name.partition(".")[0] for name in modules))
        return _found(tops)

    @property
    def names(self) -> tuple[str, ...]:
        """The canonical names."""
        return tuple(name for name, _, _ in self.rows)

    @property
    def digest(self) -> str:
        """SHA-256 over names, versions and records."""
        return hashlib.sha256(json.dumps(self.rows).encode()).hexdigest()

    @property
    def advice(self) -> str:
        """What to install for what is missing; empty if nothing is."""
        wanted = " ".join(_KNOWN.get(name, name) for name in self.missing)
        return f"pip install {wanted}" if wanted else ""

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, for a manifest."""
        rows = {name: {"version": version, "record": digest} for name, version, digest in self.rows}
        return {"digest": self.digest, "distributions": rows}


@cache
def _found(tops: tuple[str, ...]) -> PackageSet:
    owners = _owners()
    todo: list[str] = []
    missing = []
    for top in tops:
        if top == "ludus":
            todo += [DISTRIBUTION, *_ACCELERATORS]
        elif importlib.util.find_spec(top) is None:
            missing.append(top)
        todo += owners.get(top, [])
    rows: dict[str, tuple[str, str, str]] = {}
    while todo:
        name = canonical_name(todo.pop())
        if name in rows:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        record = found.read_text("RECORD") or ""
        rows[name] = (name, found.version, hashlib.sha256(record.encode()).hexdigest())
        todo += _requirements(found)
    return PackageSet(tuple(sorted(rows.values())), tuple(missing))


@cache
def _owners() -> dict[str, list[str]]:
    return {name: list(found) for name, found in metadata.packages_distributions().items()}


def _requirements(found: metadata.Distribution) -> list[str]:
    """Return the names of what a distribution needs, without its extras."""
    wanted = []
    for line in found.requires or ():
        text, _, marker = line.partition(";")
        if "extra" not in marker and (match := _NAME.match(text.strip())):
            wanted.append(match[0])
    return wanted
