"""Outputs that are there whole or not at all, and never replace anything."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from ludus.errors import RecordError

__all__ = ["whole_file", "whole_folder"]


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give out a path to write to; the file appears at ``path`` when the block has ended well.

    Raises:
        RecordError: Something is at ``path``, before or after, or nothing can be written there.
    """
    with _draft_of(path) as draft:
        yield draft
        _sync(draft)
        try:
            # Unlike a rename, a link never replaces what somebody else has put there meanwhile.
            os.link(draft, path)
        except FileExistsError:
            raise _taken(path) from None
        except OSError:  # a file system without links
            _refuse_taken(path)
            draft.rename(path)
        _sync(path.parent)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give out the path of a folder yet to be made, as :func:`whole_file`."""
    with _draft_of(path) as draft:
        yield draft
        for inside in draft.rglob("*"):
            _sync(inside)
        _refuse_taken(path)
        draft.rename(path)
        _sync(path.parent)


@contextlib.contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    _refuse_taken(path)
    # Hidden, because Minari takes every other folder beside its datasets for one.
    draft = path.parent / f".{path.name}.{secrets.token_hex(4)}.draft"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield draft
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise RecordError(f"{path} cannot be written: {reason}. Nothing was left there.") from None
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def _refuse_taken(path: Path) -> None:
    if os.path.lexists(path):
        raise _taken(path)


def _taken(path: Path) -> RecordError:
    return RecordError(f"{path} exists already, and nothing is overwritten; choose another name.")


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
