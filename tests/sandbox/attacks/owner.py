"""A program that opens a box, starts something in it, says so, and waits to be killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.sandbox.attacks.boxes import open_box
from tests.sandbox.attacks.host import carriers, is_sleep

__all__ = ["main"]


def main(backend: str, folder: str, seconds: str, moment: str) -> None:
    box = open_box(backend, {}, Path(folder))
    box.spawn(["sleep", seconds])
    while moment == "running" and not any(map(is_sleep, carriers(seconds))):
        time.sleep(0.01)
    print(getattr(box, "name", backend), flush=True)
    time.sleep(30)


if __name__ == "__main__":
    main(*sys.argv[1:])
