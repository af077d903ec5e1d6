"""Licences of components, and whether they are allowed."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from ludus.audit.dependencies import Component
from ludus.audit.rules import make_finding
from ludus.audit.target import Metadata
from ludus.findings import Finding

__all__ = ["check_licences", "is_allowed", "licence_of"]

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.1-or-later",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
_SPELLINGS = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "mit license": "MIT",
    "mpl 2.0": "MPL-2.0",
    "psf": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the mit license": "MIT",
}
_TOKEN = re.compile(r"\(|\)|[A-Za-z0-9.+:-]+")
_EXCEPTION = re.compile(r"\sWITH\s+[A-Za-z0-9.+:-]+", re.I)
_PYTHON = {"AND": "and", "OR": "or", "(": "(", ")": ")"}


def licence_of(metadata: Metadata) -> str | None:
    """Return the licence, as an SPDX expression if possible, or ``None``.

    It is taken from ``License-Expression``, a short ``License`` field or the classifiers.
    """
    if metadata.licence_expression:
        return metadata.licence_expression[:300]
    field = (metadata.licence or "").strip()
    if field.lower() in _SPELLINGS:
        return _SPELLINGS[field.lower()]
    # A longer field is the full text of a licence.
    if field and len(field) <= 60 and "\n" not in field and field.upper() not in {"UNKNOWN", "N/A"}:
        return field
    names = [
        name.rpartition(" :: ")[2] for name in metadata.classifiers if name.startswith("License ::")
    ]
    known = sorted({_CLASSIFIERS.get(name, name) for name in names} - {"OSI Approved"})
    return " OR ".join(known) or None


def check_licences(
    components: list[Component], allowed: Collection[str], denied: Collection[str]
) -> list[Finding]:
    """Set the licence of each component and find those that are unknown or not allowed.

    ``allowed`` and ``denied`` are SPDX identifiers; an empty ``allowed`` allows all not denied.
    """
    findings = []
    for component in components:
        component.licence = licence_of(component.metadata)
        if component.licence is None:
            if component.source != "declared":
                findings.append(make_finding("unknown-licence", component.name))
        elif not is_allowed(component.licence, allowed, denied):
            detail = component.licence
            findings.append(make_finding("denied-licence", component.name, message=detail))
    return findings


def is_allowed(expression: str, allowed: Collection[str], denied: Collection[str]) -> bool:
    """Return whether an SPDX expression is satisfied by allowed licences."""
    allow = {name.lower() for name in allowed}
    deny = {name.lower() for name in denied}

    def fits(name: str) -> bool:
        return name.lower() not in deny and (not allow or name.lower() in allow)

    tokens = _TOKEN.findall(_EXCEPTION.sub("", expression))
    words = [_PYTHON.get(token.upper()) or str(fits(token)) for token in tokens]
    try:
        # SPDX has the same parentheses and precedence as Python.
        tree = ast.parse(" ".join(words[:200]), mode="eval").body
        is_whole = len(words) <= 200 and not _TOKEN.sub("", expression).strip()
        return _value(tree) if is_whole else fits(expression)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return fits(expression)


def _value(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        values = map(_value, node.values)
        return any(values) if isinstance(node.op, ast.Or) else all(values)
    if not isinstance(node, ast.Constant):
        raise ValueError("not a licence expression")
    return bool(node.value)
