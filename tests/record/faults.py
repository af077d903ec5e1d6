"""Disks that fail: an ``os`` whose k-th call that changes something goes wrong, in a chosen way."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

import ludus.record.format.disk
import ludus.record.format.folder

CHANGES = ("open", "pwritev", "fsync", "ftruncate", "replace", "unlink", "mkdir")


def _half(arguments):
    number, parts, offset = arguments
    whole = b"".join(bytes(part) for part in parts)
    return number, [whole[: len(whole) // 2]], offset


def before(call, name, arguments, options):
    """Fail without having done anything."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def after(call, name, arguments, options):
    """Do it, and fail all the same."""
    call(*arguments, **options)
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def partly(call, name, arguments, options):
    """Write a half, then fail."""
    if name == "pwritev":
        call(*_half(arguments))
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def short(call, name, arguments, options):
    """Write one byte and say so; everything else works."""
    if name == "pwritev":
        number, parts, offset = arguments
        first = next(part for part in parts if len(part))
        return call(number, [bytes(first)[:1]], offset)
    return call(*arguments, **options)


def die_before(call, name, arguments, options):
    os._exit(9)


def die_after(call, name, arguments, options):
    with contextlib.suppress(OSError):
        call(*arguments, **options)
    os._exit(9)


def die_partly(call, name, arguments, options):
    if name == "pwritev":
        call(*_half(arguments))
    os._exit(9)


class FaultyOs:
    """``os``, except for the calls from number ``first`` to ``last``."""

    def __init__(self, fault: Callable, first: int, last: int) -> None:
        self.calls = 0
        self._fault = fault
        self._range = range(first, last + 1)

    def __getattr__(self, name: str):
        call = getattr(os, name)
        if name not in CHANGES:
            return call

        def counted(*arguments, **options):
            if name == "open" and not arguments[1] & os.O_CREAT:
                return call(*arguments, **options)
            self.calls += 1
            if self.calls - 1 in self._range:
                return self._fault(call, name, arguments, options)
            return call(*arguments, **options)

        return counted


@contextlib.contextmanager
def faulty_disk(fault: Callable = before, first: int = -1, last: int | None = None) -> Iterator:
    """Let calls fail while the context lasts; the default fails none, and counts."""
    modules = (ludus.record.format.disk, ludus.record.format.folder)
    disk = FaultyOs(fault, first, first if last is None else last)
    for module in modules:
        module.os = disk
    try:
        yield disk
    finally:
        for module in modules:
            module.os = os
