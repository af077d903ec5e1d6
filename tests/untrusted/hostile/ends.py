"""Environments that end, hang, or raise at the wrong time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from honest import Honest


def doing(name, method, action):
    def call(self, *args, **kwargs):
        action()
        return getattr(Honest, method)(self, *args, **kwargs)

    return type(name, (Honest,), {method: call})


def forever():
    while True:
        time.sleep(1)


def spin():
    while True:
        pass


def hog():
    kept = []
    while True:
        kept.append(bytearray(b"x") * (8 << 20))


def bomb():
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def stubborn():
    """Hang, deaf to everything that can be ignored."""
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    forever()


class Nasty(BaseException):
    def __str__(self):
        return "\x1b]0;owned\x07" + "A" * 10_000_000


class Worse(Exception):
    def __str__(self):
        raise SystemExit(3)


def throw(problem):
    def action():
        raise problem

    return action


def orphan():
    """Let a child go on with the protocol."""
    if os.fork():
        forever()


def orphan_and_exit():
    if os.fork():
        os._exit(0)


ResetHangs = doing("ResetHangs", "reset", forever)
StepHangs = doing("StepHangs", "step", forever)
StepSpins = doing("StepSpins", "step", spin)
StepIgnoresSignals = doing("StepIgnoresSignals", "step", stubborn)
RenderHangs = doing("RenderHangs", "render", forever)
CloseHangs = doing("CloseHangs", "close", forever)
CloseRaises = doing("CloseRaises", "close", throw(RuntimeError("no")))
StartHangs = doing("StartHangs", "__init__", forever)
StartExits = doing("StartExits", "__init__", lambda: os._exit(3))
Exits = doing("Exits", "step", lambda: os._exit(5))
ExitsZero = doing("ExitsZero", "step", lambda: os._exit(0))
Kills = doing("Kills", "step", lambda: os.kill(os.getpid(), signal.SIGSEGV))
Quits = doing("Quits", "step", lambda: sys.exit(4))
RaisesBase = doing("RaisesBase", "step", throw(Nasty()))
RaisesWorse = doing("RaisesWorse", "step", throw(Worse()))
RaisesInterrupt = doing("RaisesInterrupt", "step", throw(KeyboardInterrupt()))
RaisesAtStart = doing("RaisesAtStart", "__init__", throw(ValueError("\x1b[31mbad\x1b[0m")))
Hogs = doing("Hogs", "step", hog)
Bombs = doing("Bombs", "step", bomb)
ChildAnswers = doing("ChildAnswers", "step", orphan)
ChildAnswersAlone = doing("ChildAnswersAlone", "step", orphan_and_exit)
