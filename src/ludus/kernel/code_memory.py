"""Memory that code is written to, and then run from: never both at once."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any

__all__ = ["CodeMemory"]


class CodeMemory:
    """Memory that can be written until it is protected; it lasts as long as this object.

    Args:
        size: How many bytes there must be.

    Raises:
        OSError: The system has none.
    """

    def __init__(self, size: int) -> None:
        pages = -(-size // mmap.PAGESIZE)
        self.image = mmap.mmap(
            -1, max(pages, 1) * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )
        # It holds on to the memory, which so cannot be closed too early.
        self._first = ctypes.c_char.from_buffer(self.image)
        self.address = ctypes.addressof(self._first)

    def protect(self, begin: int, end: int, *, run: bool) -> None:
        """Let the pages from one offset to another be read, or run, but no longer be written.

        Raises:
            OSError: The system does not allow it.
        """
        if begin == end:
            return
        rights = mmap.PROT_READ | (mmap.PROT_EXEC if run else 0)
        if run:
            _forget_old_instructions(self.address + begin, self.address + end)
        if _libc().mprotect(self.address + begin, end - begin, rights) != 0:
            problem = ctypes.get_errno()
            raise OSError(problem, os.strerror(problem))


@cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library


def _forget_old_instructions(begin: int, end: int) -> None:
    """Have the processor read the instructions there anew.

    An x86 does so by itself. Others must be told, by a function that comes with compilers.
    """
    if os.uname().machine == "x86_64":
        return
    try:
        clear = ctypes.CDLL("libgcc_s.so.1")["__clear_cache"]
    except AttributeError as problem:
        raise OSError(str(problem)) from problem
    clear.argtypes, clear.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    clear(begin, end)
