"""Run under a terminal: open a box, let it type, and see what waits in the terminal's input."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from pathlib import Path

from tests.sandbox.attacks.attack import Scene

TYPE = """
import fcntl
places = []
for path in ("/dev/tty", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"):
    try:
        places.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    except OSError:
        pass
last = OSError(errno.ENXIO, "no terminal")
for place in (*places, 0, 1, 2):
    try:
        for letter in P["token"] + "\\n":
            fcntl.ioctl(place, 0x5412, letter.encode())
        broke("typed")
    except OSError as error:
        last = error
refused(last)
"""


def main(backend: str, folder: str, token: str) -> None:
    tty.setraw(sys.stdin.fileno(), termios.TCSANOW)
    scene = Scene(backend, Path(folder), token=token)
    with scene.stack:
        scene.box = scene.open_box()
        completed = scene.python(TYPE)
        print(completed.stdout[-300:], completed.stderr[-300:], flush=True)
        typed = b""
        while select.select([0], [], [], 0.1)[0]:
            typed += os.read(0, 1000)
    print("TYPED" if token.encode() in typed else "CLEAN", token if typed else "", flush=True)
    print("CLEAN DONE" if not typed else "DONE", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
