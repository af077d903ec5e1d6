"""Too much of everything."""

from __future__ import annotations

import os

from ends import doing


def shout(descriptor, size):
    data = b"\x1b[2J" + b"x" * 65532
    for _ in range(size // len(data)):
        os.write(descriptor, data)


def shout_for_ever():
    while True:
        os.write(2, b"y" * 65536)


Prints = doing("Prints", "step", lambda: shout(1, 8 << 20))
PrintsErrors = doing("PrintsErrors", "step", lambda: shout(2, 8 << 20))
PrintsForEver = doing("PrintsForEver", "step", shout_for_ever)
