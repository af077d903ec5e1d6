"""Atomic creation of files and folders, without overwriting."""

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
    """Yield a temporary path; the file is moved to ``path`` when the block succeeds.

    Raises:
        RecordError: ``path`` exists, before or after the block, or cannot be written.
    """
    with _draft_of(path) as draft:
        yield draft
        _sync(draft)
        try:
            # Unlike a rename, a link never replaces a file that was created meanwhile.
            os.link(draft, path)
        except FileExistsError:
            raise _taken(path) from None
        except OSError:  # a file system without links
            _refuse_taken(path)
            draft.rename(path)
        _sync(path.parent)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield the temporary path of a folder to create, like :func:`whole_file`."""
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
    # Hidden, because Minari takes every visible folder for a dataset.
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
    return RecordError(f"{path} exists already and is not overwritten; choose another name.")


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
