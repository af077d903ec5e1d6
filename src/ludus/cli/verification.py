"""Functions shared by ``ludus bench verify`` and ``ludus research verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ludus.cli.console import FAILED, echo, err, print_line
from ludus.errors import DependencyNotInstalled

if TYPE_CHECKING:
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.verifying.verification import UnitVerification

__all__ = ["show_verification", "verifying"]

_WORDS = ("verified", "claimed", "failed")


@contextmanager
def verifying(
    trust: list[str] | None, key: Path | None, store: str | None
) -> Iterator[dict[str, Any]]:
    """Open key and store; yield the keyword arguments of the verification.

    The fingerprint of the signing key is printed, because the first verification creates one.

    Args:
        trust: Public keys that must have signed the records.
        key: Path of the private key that signs the statement.
        store: Store to which the statement is also written.
    """
    from ludus.record import load_public_key, load_signing_key, own_key

    with ExitStack() as stack:
        opened = None
        if store is not None:
            from ludus.bench.store import open_store

            opened = stack.enter_context(open_store(store, create=False))
        signer = None
        # Without cryptography nothing is signed, and the verification reports that.
        with suppress(DependencyNotInstalled):
            signer = own_key() if key is None else load_signing_key(key)
            err.print(f"The statement is signed by {signer.fingerprint}.", highlight=False)
        yield {
            "trusted_keys": [load_public_key(one) for one in trust] if trust else None,
            "key": signer,
            "store": opened,
        }


def show_verification(folder: BenchFolder, done: Iterable[UnitVerification]) -> None:
    """Print the findings of a verification as they come.

    Raises:
        typer.Exit: A result is wrong.
    """
    counts: Counter[str] = Counter()
    for one in done:
        result = one.result
        counts[result.verified] += 1
        for problem in one.problems or one.unchecked:
            print_line(f"{result.agent} on {result.env}, seed {result.seed}: {problem}")
    missing = len(folder.unit_ids) - sum(counts.values())
    rest = f", {missing} without a record" if missing else ""
    echo(", ".join(f"{counts[word]} {word}" for word in _WORDS) + rest)
    if counts["failed"]:
        raise typer.Exit(FAILED)
