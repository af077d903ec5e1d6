"""Attacks on the shared memory, past the runner."""

# Attackers write as they like.
# ruff: noqa: PTH115, PTH208

from __future__ import annotations

import fcntl
import os
import threading

import numpy as np
from honest import Honest, find_link


def memory_descriptor():
    for name in os.listdir("/proc/self/fd"):
        try:
            if "ludus-sandbox" in os.readlink(f"/proc/self/fd/{name}"):
                return int(name)
        except OSError:
            continue
    raise LookupError


class Resizes(Honest):
    """Truncates and grows the memory, which would kill a host that looks at it."""

    def step(self, action):
        tried = {}
        for name, attempt in {
            "shrink": lambda fd: os.ftruncate(fd, 0),
            "grow": lambda fd: os.ftruncate(fd, 1 << 30),
            "seal": lambda fd: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE),
        }.items():
            try:
                attempt(memory_descriptor())
                tried[name] = "worked"
            except OSError:
                tried[name] = "refused"
        return np.zeros(2, np.float32), 0.0, False, False, tried


class Flips(Honest):
    """A thread that writes to the answer all the time, between any two looks of the host."""

    def reset(self, **kwargs):
        answer = find_link().answer
        views = np.frombuffer(answer, np.uint8)
        threading.Thread(target=self.flip, args=(views,), daemon=True).start()
        return super().reset(**kwargs)

    @staticmethod
    def flip(views):
        numbers = views[64:72].view(np.float32)
        while True:
            numbers[:] = 5.0
            numbers[:] = 0.5
            numbers[:] = np.nan
            numbers[:] = 0.0


class FlipsHeader(Flips):
    @staticmethod
    def flip(views):
        while True:
            views[8:24] = 255
            views[12:16] = 127


class Scribbles(Honest):
    """Fills everything shared with noise after each answer."""

    def step(self, action):
        memory = find_link().memory
        size = len(memory)
        threading.Timer(0.0005, lambda: memory.__setitem__(slice(0, size), b"\xff" * size)).start()
        return super().step(action)
