"""``signature.json``: a signature over the manifest and the last event of a run."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from ludus.errors import CodecError, RecordDamaged
from ludus.record.format import canonical
from ludus.record.format.folder import Folder
from ludus.record.format.keys import PublicKey, SigningKey

__all__ = ["SIGNATURE", "Signature", "make_signature", "read_signature", "write_signature"]

SIGNATURE = "signature.json"
_ALGORITHM = "ed25519"
_DOMAIN = (
    b"ludus run signature 1\n"  # So that no signature of another text passes for one of a run.
)
_LONGEST = 4096
_FORMS = {
    "public_key": re.compile("[0-9a-f]{64}"),
    "manifest": re.compile("[0-9a-f]{64}"),
    "head": re.compile("[0-9a-f]{64}"),
    "signature": re.compile("[0-9a-f]{128}"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What was signed, and by which key."""

    algorithm: str
    public_key: str
    manifest: str
    """SHA-256 of the manifest's bytes."""
    head: str
    """Hash of the last event."""
    events: int
    """How many there are."""
    signature: str

    @property
    def key(self) -> PublicKey:
        """The key that it claims to be of."""
        return PublicKey(self.public_key)

    def is_genuine(self) -> bool:
        """Tell whether the key's owner signed this; not whether it belongs to a certain run.

        Raises:
            DependencyNotInstalled: The package ``cryptography`` is missing.
        """
        return self.key.verify(bytes.fromhex(self.signature), _signed_bytes(asdict(self)))

    def covers(self, manifest: str, head: str, events: int) -> bool:
        """Tell whether it is about the run with this manifest, last event and number of events."""
        return (self.manifest, self.head, self.events) == (manifest, head, events)


def make_signature(key: SigningKey, manifest: str, head: str, events: int) -> Signature:
    """Sign a run, given by the hashes of its manifest and its last event."""
    fields: dict[str, Any] = {
        "algorithm": _ALGORITHM,
        "public_key": key.public.hex,
        "manifest": manifest,
        "head": head,
        "events": events,
    }
    return Signature(**fields, signature=key.sign(_signed_bytes(fields)).hex())


def write_signature(folder: Folder, signature: Signature) -> None:
    """Put a signature into a run folder, whole or not at all."""
    folder.replace(SIGNATURE, iter([canonical.dumps(asdict(signature)) + b"\n"]))


def read_signature(folder: Folder) -> Signature | None:
    """Return a run folder's signature, ``None`` if there is none; its form is checked only."""
    content = folder.read(SIGNATURE, _LONGEST)
    if content is None:
        return None

    def damaged(reason: str) -> RecordDamaged:
        return RecordDamaged(f"{SIGNATURE}: {reason}.", file=SIGNATURE, position=0)

    try:
        raw = canonical.loads(content.removesuffix(b"\n"))
    except CodecError as problem:
        raise damaged(str(problem)) from None
    if not content.endswith(b"\n") or not isinstance(raw, dict):
        raise damaged("it is no signature of a run")
    if raw.keys() != {*_FORMS, "algorithm", "events"} or raw["algorithm"] != _ALGORITHM:
        raise damaged(f"it is no {_ALGORITHM} signature of a run")
    for name, form in _FORMS.items():
        if not isinstance(raw[name], str) or not form.fullmatch(raw[name]):
            raise damaged(f"its field {name} is malformed")
    if type(raw["events"]) is not int:
        raise damaged("its number of events is no integer")
    return Signature(**raw)


def _signed_bytes(fields: dict[str, Any]) -> bytes:
    return _DOMAIN + canonical.dumps(
        {name: value for name, value in fields.items() if name != "signature"}
    )
