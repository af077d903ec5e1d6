"""What ``ludus bench verify`` and ``ludus research verify`` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ludus.cli.console import FAILED, echo, err, out
from ludus.errors import DependencyNotInstalled
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from ludus.bench.running.folder import BenchFolder
    from ludus.bench.verifying.verification import UnitVerification

__all__ = ["show_verification", "verifying"]

_WORDS = ("verified", "claimed", "failed")


@contextmanager
def verifying(
    trust: list[str] | None, key: Path | None, store: str | None
) -> Iterator[dict[str, Any]]:
    """Give the arguments of a verification that the options of its command stand for.

    Whose key signs is said, as the first verification makes one.

    Args:
        trust: Public keys that must have signed the records.
        key: Path of the private key that signs the statement.
        store: Where the statement goes too.
    """
    from ludus.record import load_public_key, load_signing_key, own_key

    with ExitStack() as stack:
        opened = None
        if store is not None:
            from ludus.bench.store import open_store

            opened = stack.enter_context(open_store(store, create=False))
        signer = None
        # Without it nothing is signed, and the verification itself says so.
        with suppress(DependencyNotInstalled):
            signer = own_key() if key is None else load_signing_key(key)
            err.print(f"The statement is signed by {signer.fingerprint}.", highlight=False)
        yield {
            "trusted_keys": [load_public_key(one) for one in trust] if trust else None,
            "key": signer,
            "store": opened,
        }


def show_verification(folder: BenchFolder, done: Iterable[UnitVerification]) -> None:
    """Print what a verification finds, as it comes, and end with an exit code if it must.

    Raises:
        typer.Exit: Something is wrong.
    """
    counts: Counter[str] = Counter()
    for one in done:
        result = one.result
        counts[result.verified] += 1
        for problem in one.problems or one.unchecked:
            line = f"{result.agent} on {result.env}, seed {result.seed}: {problem}"
            # A line end in a name must not make a line of its own, which could say anything.
            out.print(printable(line, 2000), highlight=False, soft_wrap=True)
    missing = len(folder.unit_ids) - sum(counts.values())
    rest = f", {missing} without a record" if missing else ""
    echo(", ".join(f"{counts[word]} {word}" for word in _WORDS) + rest)
    if counts["failed"]:
        raise typer.Exit(FAILED)
