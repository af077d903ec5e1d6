"""What an environment tries to get from, or do to, the host. It tells what it found."""

# Attackers write as they like.
# ruff: noqa: PTH120, PTH123, PTH208, SIM115

from __future__ import annotations

import os
import socket
import sys

import numpy as np
from honest import Honest


def tried(action):
    try:
        return str(action())[:200]
    except BaseException as problem:
        return f"refused: {type(problem).__name__}"


def write(path):
    with open(path, "w") as file:
        file.write("owned")
    return "written"


class Reaches(Honest):
    def __init__(self, secret=""):
        super().__init__()
        self.secret = secret

    def step(self, action):
        import ludus

        installed = os.path.dirname(np.__file__)
        found = {
            "read": tried(lambda: open(self.secret).read()),
            "shadow": tried(lambda: open("/etc/shadow").read()),
            "package": tried(lambda: write(f"{installed}/owned.py")),
            "ludus": tried(lambda: write(f"{os.path.dirname(ludus.__file__)}/owned.py")),
            "given": tried(lambda: write(f"{os.path.dirname(__file__)}/owned.py")),
            "kernels": tried(lambda: write("/ludus/kernels/owned.o")),
            "prefix": tried(lambda: write(f"{sys.prefix}/lib/owned")),
            "variables": " ".join(sorted(os.environ)),
            "network": tried(lambda: socket.create_connection(("127.0.0.1", 22), 1)),
            "parent": tried(lambda: os.kill(os.getppid(), 9) if os.getppid() > 1 else 1 / 0),
            "processes": str(len([name for name in os.listdir("/proc") if name.isdigit()])),
            "uid": str(os.getuid()),
        }
        return np.zeros(2, np.float32), 0.0, False, False, found
