"""Ed25519 keys: who signs a run, and whose signatures count on this machine.

A private key is a PEM file that only its owner may read. The public key beside it, with ``.pub``
added to the name, is one line of 64 hexadecimal digits. Beside the user's own key lies
``trusted_keys``, a text file with one public key per line; whatever follows on the line is a
comment, and so is a line that begins with ``#``. Nothing in a folder from elsewhere changes whom a
user trusts.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludus.errors import RecordError
from ludus.optional import missing
from ludus.record.format.disk import create_files, read_small

__all__ = [
    "PublicKey",
    "SigningKey",
    "default_key_path",
    "generate_key",
    "load_public_key",
    "load_signing_key",
    "own_key",
    "trusted_keys",
    "trusted_keys_path",
]


_HEX = re.compile("[0-9a-f]{64}")
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The key that a signature is checked with."""

    hex: str
    """The key itself, 64 hexadecimal digits."""

    def __post_init__(self) -> None:
        if not _HEX.fullmatch(self.hex):
            raise RecordError(f"A public key has 64 hexadecimal digits; got {self.hex!r:.100}.")

    @property
    def fingerprint(self) -> str:
        """A short name, for people to compare."""
        short = base64.b64encode(hashlib.sha256(bytes.fromhex(self.hex)).digest())
        return "SHA256:" + short.decode().rstrip("=")

    def verify(self, signature: bytes, content: bytes) -> bool:
        """Tell whether the owner of this key has signed the content.

        Raises:
            DependencyNotInstalled: The package ``cryptography`` is missing.
        """
        ed25519, _, invalid = _cryptography()
        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.hex))
            key.verify(signature, content)
        except (invalid, ValueError):
            return False
        return True


class SigningKey:
    """A private key in memory; its repr does not show it."""

    __slots__ = ("_key", "public")

    def __init__(self, key: Any) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw().hex())

    @property
    def fingerprint(self) -> str:
        """Of the public key."""
        return self.public.fingerprint

    def sign(self, content: bytes) -> bytes:
        """Return the signature of the content, 64 bytes."""
        signature: bytes = self._key.sign(content)
        return signature

    def __repr__(self) -> str:
        return f"SigningKey({self.fingerprint})"

    def __reduce__(self) -> Any:
        raise TypeError("A private key is not pickled; load it from its file where it is needed.")


def default_key_path() -> Path:
    """Return where ``ludus keygen`` puts a key by default."""
    base = Path(os.environ.get("XDG_CONFIG_HOME", "")).expanduser()
    # A relative one would lead into the current folder, which may be somebody else's.
    home = base if base.is_absolute() else Path("~/.config").expanduser()
    return home / "ludus" / "keys" / "default"


def generate_key(path: str | os.PathLike[str] | None = None) -> SigningKey:
    """Make a key; write it, and its public half beside it, for the owner alone.

    Raises:
        RecordError: One of the files exists already, or cannot be written; no key is left behind.
        DependencyNotInstalled: The package ``cryptography`` is missing.
    """
    target = default_key_path() if path is None else Path(path)
    ed25519, serialization, _ = _cryptography()
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    made = SigningKey(key)
    try:
        create_files(
            target.parent,
            {
                target.name: (secret, 0o600),
                f"{target.name}.pub": (f"{made.public.hex}\n".encode(), 0o644),
            },
        )
    except FileExistsError:
        raise RecordError(
            f"There is a key at {target} already, and it is not replaced: what it has signed "
            "could not be signed again. Use it, or choose another path."
        ) from None
    except OSError as problem:
        raise RecordError(f"The key cannot be written to {target}: {problem.strerror}.") from None
    return made


def load_signing_key(path: str | os.PathLike[str] | None = None) -> SigningKey:
    """Return the private key in a file.

    Raises:
        RecordError: There is none, it is no Ed25519 key, or others than its owner may read it.
        DependencyNotInstalled: The package ``cryptography`` is missing.
    """
    source = default_key_path() if path is None else Path(path)
    content, mode = _read(source, "Make one with `ludus keygen`")
    if mode & 0o077:
        raise RecordError(
            f"The key {source} can be read by others (its mode is {mode & 0o777:o}), so its "
            f"signatures prove nothing. If it is still secret, run `chmod 600 {source}`."
        )
    ed25519, serialization, _ = _cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as problem:
        raise RecordError(f"{source} holds no private key that can be read: {problem}.") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise RecordError(f"{source} holds a key of another kind; Ed25519 is expected.")
    return SigningKey(key)


def load_public_key(source: str | os.PathLike[str]) -> PublicKey:
    """Return a public key, given as its 64 hexadecimal digits or as a file that holds them.

    Raises:
        RecordError: It is neither.
    """
    if isinstance(source, str) and _HEX.fullmatch(source):
        return PublicKey(source)
    content, _ = _read(Path(source), "Give the .pub file that `ludus keygen` wrote, or its digits")
    text = content.decode("ascii", "replace").strip()
    if not _HEX.fullmatch(text):
        raise RecordError(
            f"{source} holds no public key, which is one line of 64 hexadecimal digits; the file "
            "that `ludus keygen` writes for it ends in .pub."
        )
    return PublicKey(text)


def _read(path: Path, advice: str) -> tuple[bytes, int]:
    try:
        return read_small(path, _LONGEST)
    except OSError as problem:
        reason = problem.strerror or problem
        raise RecordError(f"There is no key at {path}: {reason}. {advice}.") from None


def _cryptography() -> tuple[Any, Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as problem:
        raise missing("cryptography", extra="sign", purpose="Signing and verifying") from problem
    return ed25519, serialization, InvalidSignature


_LONGEST_LIST = 1 << 20


def own_key() -> SigningKey:
    """Return the user's key; the first call makes it.

    Raises:
        DependencyNotInstalled: The package ``cryptography`` is missing.
        RecordError: The key cannot be read or written.
    """
    path = default_key_path()
    if not path.exists():
        try:
            return generate_key(path)
        except RecordError:
            if not path.exists():
                raise
            # Another process has just made it.
    return load_signing_key(path)


def trusted_keys_path() -> Path:
    """Return the file that lists other people's keys that the user trusts."""
    return default_key_path().parent / "trusted_keys"


def trusted_keys(more: Iterable[str | Path] = ()) -> tuple[PublicKey, ...]:
    """Return the user's own public key, if there is one, the listed ones, and ``more``.

    ``more`` are public keys for this call, as files or as hexadecimal digits.

    Raises:
        RecordError: The list, or one of ``more``, holds something that is no public key.
    """
    found = [load_public_key(one) for one in more]
    public = default_key_path().with_name(f"{default_key_path().name}.pub")
    if public.exists():
        _read_own(public)
        found.append(load_public_key(public))
    return tuple(dict.fromkeys((*found, *_listed(trusted_keys_path()))))


def _listed(path: Path) -> Iterable[PublicKey]:
    if not path.exists():
        return
    for number, line in enumerate(_read_own(path).decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            yield PublicKey(words[0])
        except RecordError as problem:
            raise RecordError(f"{path}, line {number}: {problem}") from None


def _read_own(path: Path) -> bytes:
    """Return the content of a file of the user's own that not everybody can change."""
    try:
        content, mode = read_small(path, _LONGEST_LIST)
    except OSError as problem:
        raise RecordError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    if mode & stat.S_IWOTH:
        raise RecordError(
            f"{path} can be changed by everybody, so nobody knows who put the keys there. Look "
            f"through it, then run `chmod go-w {path}`."
        )
    return content
