"""A program that opens a box, starts something in it, says so, and waits to be killed."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ludus.errors import SandboxError
from tests.sandbox.attacks.boxes import open_box
from tests.sandbox.attacks.host import carriers, is_sleep

__all__ = ["main"]


def main(backend: str, folder: str, seconds: str, moment: str) -> None:
    box = open_box(backend, {}, Path(folder))
    box.spawn(["sh", "-c", f": > started; exec sleep {seconds}"])
    while moment == "running" and not _runs(box, backend, seconds):
        time.sleep(0.01)
    print(getattr(box, "name", backend), flush=True)
    time.sleep(30)


def _runs(box: Any, backend: str, seconds: str) -> bool:
    if backend != "gvisor":
        return any(map(is_sleep, carriers(seconds)))
    # The host sees no process of that kernel, but the files.
    with suppress(SandboxError):
        return box.read_bytes("started") == b""
    return False


if __name__ == "__main__":
    main(*sys.argv[1:])
