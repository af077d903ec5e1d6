"""Root without the rights that let it read every file."""

from __future__ import annotations

import ctypes

_VERSION = 0x20080522
_OVER_FILES = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


def drop_rights_over_files():
    """Make the modes of files hold for this thread, as they do for every user but root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    rights = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    rights[0] &= ~_OVER_FILES
    assert libc.capset(header, rights) == 0
