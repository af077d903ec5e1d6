"""The runner replaced: each of these talks to the host in its own words."""

from __future__ import annotations

import os
import pickle
import struct
import time

from honest import Honest, find_link

from ludus.codec import encode
from ludus.untrusted.channel.protocol import ANSWER, BELL, Kind


class Raw(Honest):
    """Answers the first step by itself, and nothing after it."""

    def step(self, action):
        link = find_link()
        token = struct.unpack_from("<Q", link.memory, 0)[0]
        self.attack(link, token)
        # The runner must not answer as well.
        time.sleep(600)

    def attack(self, link, token):
        raise NotImplementedError


def saying(name, kind, extra=b"", *, size=None, flags=(0, 0), reward=0.0, token=None, bells=1):
    def attack(self, link, asked):
        place = link._plan.answer_extra_at
        link.memory[place : place + len(extra)] = extra
        answered = asked if token is None else token(asked)
        length = len(extra) if size is None else size
        ANSWER.pack_into(link.answer, 0, answered, kind, *flags, length, reward)
        os.write(link.target, BELL * bells)

    return type(name, (Raw,), {"attack": attack})


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/ludus-pickle-was-run",)


def deep(levels):
    return b"\x91" * levels + b"\xc0"


WrongToken = saying("WrongToken", Kind.RESULT, token=lambda asked: asked ^ 1)
ZeroToken = saying("ZeroToken", Kind.RESULT, token=lambda asked: 0)
UnknownKind = saying("UnknownKind", 99)
WrongKind = saying("WrongKind", Kind.VALUE, encode(None))
GiantExtra = saying("GiantExtra", Kind.RESULT, size=2**32 - 1)
MissingExtra = saying("MissingExtra", Kind.RESULT, size=2**20)
PickledInfo = saying("PickledInfo", Kind.RESULT, pickle.dumps(Bomb()))
PickledResult = saying("PickledResult", Kind.LOOSE, pickle.dumps([Bomb()] * 5))
DeepResult = saying("DeepResult", Kind.LOOSE, deep(100_000))
LyingLength = saying("LyingLength", Kind.LOOSE, b"\xdd\xff\xff\xff\xff")
TrailingBytes = saying("TrailingBytes", Kind.RESULT, encode({}) + b"\x00")
RepeatedKeys = saying("RepeatedKeys", Kind.RESULT, b"\x82\xa1a\x01\xa1a\x02")
ShortResult = saying("ShortResult", Kind.LOOSE, encode([1, 2]))
RawFlag = saying("RawFlag", Kind.RESULT, flags=(2, 0))
RawReward = saying("RawReward", Kind.RESULT, reward=float("nan"))
RaisedNothing = saying("RaisedNothing", Kind.RAISED)
RaisedList = saying("RaisedList", Kind.RAISED, encode(["ValueError"]))
RaisedGiant = saying("RaisedGiant", Kind.RAISED, size=2**30)
RaisedEscapes = saying(
    "RaisedEscapes",
    Kind.RAISED,
    encode({"type": "\x1b[2J", "text": "\x07" * 50, "trace": "\u202e" * 50}),
)
AnswersTwice = saying("AnswersTwice", Kind.RESULT, bells=2)
FloodsBells = saying("FloodsBells", Kind.RESULT, bells=60_000)


class AnswersEarly(Raw):
    """Rings once more than asked, so that each later answer stands ready before its question."""

    def step(self, action):
        link = find_link()
        os.write(link.target, BELL)
        return Honest.step(self, action)


class OtherBell(Raw):
    def attack(self, link, token):
        os.write(link.target, b"\x00")


class ClosesPipes(Raw):
    def attack(self, link, token):
        os.closerange(0, 64)


class StealsRequests(Raw):
    """Reads what the host writes, in a child that the runner knows nothing of."""

    def attack(self, link, token):
        if os.fork() == 0:
            while True:
                os.read(link.source, 1)
