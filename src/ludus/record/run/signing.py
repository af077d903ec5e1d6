"""Sign a run that is closed already: closed without a key, or killed before it was signed."""

from __future__ import annotations

import contextlib
import os

from ludus.errors import RecordError
from ludus.record.format.disk import failure
from ludus.record.format.event import EVENTS
from ludus.record.format.folder import Folder, lock
from ludus.record.format.keys import SigningKey
from ludus.record.format.signature import Signature, make_signature, write_signature
from ludus.record.run.reader import read_run

__all__ = ["sign_run"]


def sign_run(path: str | os.PathLike[str], key: SigningKey) -> Signature:
    """Sign a closed run, in place of a signature that it may have.

    Its chain is checked first; its blocks and files are not, so run ``fsck`` on what is not yours.

    Raises:
        RecordDamaged: The chain is broken.
        RecordLocked: Somebody is writing the run.
        RecordError: There is no run, it is not closed, or the folder cannot be written.
    """
    reader = read_run(path)
    with Folder(path) as folder, contextlib.ExitStack() as opened:
        if (events := folder.open(EVENTS)) is not None:
            lock(opened.enter_context(events), folder.path)
        if not reader.closed:
            raise RecordError(
                f"The run at {folder.path} is not closed, so there is nothing to sign yet. Go on "
                "with it by Run.resume, and close it."
            )
        signature = make_signature(key, reader.manifest_hash, reader.head, reader.events_count)
        try:
            write_signature(folder, signature)
        except OSError as problem:
            raise failure(f"Signing the run at {folder.path}", problem) from problem
    return signature
