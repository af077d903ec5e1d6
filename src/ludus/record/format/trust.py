"""Whose signatures count on this machine: the user's own key, and the keys the user listed.

Beside the user's key lies ``trusted_keys``, a text file with one public key per line, as its 64
hexadecimal digits; whatever follows on the line is a remark, and so is a line that begins with
``#``. Nothing in a folder that somebody handed over changes whom a user trusts.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from ludus.errors import RecordError
from ludus.record.format.host_files import read_small
from ludus.record.format.keys import (
    PublicKey,
    SigningKey,
    default_key_path,
    generate_key,
    load_public_key,
    load_signing_key,
)

__all__ = ["own_key", "trusted_keys", "trusted_keys_path"]

_LONGEST = 1 << 20


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
    """Return the file that lists the keys of others whom the user trusts."""
    return default_key_path().parent / "trusted_keys"


def trusted_keys(more: Iterable[str | Path] = ()) -> tuple[PublicKey, ...]:
    """Return the user's own public key, if there is one, the listed ones, and ``more``.

    Args:
        more: Public keys for this call, as files or as hexadecimal digits.

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
    """Return the content of a file of the user's own.

    Raises:
        RecordError: It cannot be read, or everybody can change it.
    """
    try:
        content, mode = read_small(path, _LONGEST)
    except OSError as problem:
        raise RecordError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    if mode & stat.S_IWOTH:
        raise RecordError(
            f"{path} can be changed by everybody, so nobody knows who put the keys there. Look "
            f"through it, then run `chmod go-w {path}`."
        )
    return content
