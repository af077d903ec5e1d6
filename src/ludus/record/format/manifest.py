"""``manifest.json``: what a run is about, written before anything else.

It is canonical JSON with an end of line; the chain of events begins with its hash.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.record.format import canonical
from ludus.record.format.event import now
from ludus.record.format.folder import Folder
from ludus.record.format.limits import MAX_LINE_BYTES

__all__ = ["MANIFEST", "build_manifest", "parse_manifest", "read_manifest"]

MANIFEST = "manifest.json"
_FORMAT, _VERSION = "ludus.run", 1
_OWN: dict[str, type] = {
    "format": str,
    "version": int,
    "id": str,
    "created": str,
    "kind": str,
    "subject": dict,
}


def build_manifest(kind: str, subject: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of a new run's manifest; no two are the same.

    Raises:
        CodecError: Something in it is not plain data.
        RecordError: A field has a name that the manifest itself uses, or it is too large.
    """
    if taken := sorted(_OWN.keys() & fields.keys()):
        raise RecordError(f"A manifest has fields {', '.join(taken)} of its own; rename yours.")
    if not isinstance(kind, str) or not kind or not isinstance(subject, Mapping):
        raise RecordError(f"A run needs a kind and a subject; got {kind!r} and {subject!r:.100}.")
    own = {
        "format": _FORMAT,
        "version": _VERSION,
        "id": secrets.token_hex(16),
        "created": now(),
        "kind": kind,
        "subject": dict(subject),
    }
    content = canonical.dumps({**fields, **own}) + b"\n"
    if len(content) > MAX_LINE_BYTES:
        raise RecordError(
            f"A manifest of {len(content)} bytes is too large; at most {MAX_LINE_BYTES} are "
            "allowed. Put large data into a file."
        )
    return content


def parse_manifest(content: bytes) -> dict[str, Any]:
    """Return the manifest of untrusted bytes; raises ``RecordDamaged`` if they are none."""

    def damaged(reason: str) -> RecordDamaged:
        return RecordDamaged(f"{MANIFEST}: {reason}.", file=MANIFEST, position=0)

    if not content.endswith(b"\n"):
        raise damaged("its end is missing")
    try:
        manifest = canonical.loads(content[:-1])
    except CodecError as problem:
        raise damaged(str(problem).rstrip(".")) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise damaged(f"it does not describe a run: its format is not {_FORMAT!r}")
    if manifest.get("version") != _VERSION:
        raise damaged(
            f"it has version {manifest.get('version')!r}; this Ludus reads version {_VERSION}"
        )
    for name, wanted in _OWN.items():
        if type(manifest.get(name)) is not wanted:
            raise damaged(f"its field {name} is missing or of another type than {wanted.__name__}")
    return manifest


def read_manifest(folder: Folder) -> tuple[dict[str, Any], bytes]:
    """Return a run folder's manifest and its bytes; raises ``RecordError`` if there is none."""
    content = folder.read(MANIFEST, MAX_LINE_BYTES)
    if content is None:
        raise RecordError(
            f"There is no {MANIFEST} in {folder.path}: this is no run folder, or a run that was "
            "stopped before it began."
        )
    return parse_manifest(content), content
