"""Declarations that no honest environment makes."""

from __future__ import annotations

import os
import time

from honest import Honest, find_link

from ludus.codec import DecodeLimits, encode
from ludus.untrusted.channel.protocol import Kind
from ludus.untrusted.inside import runner


def declaring(title, /, **changes):
    def __init__(self, *args, **kwargs):
        Honest.__init__(self)

        def changed(value, *limits):
            is_declaration = isinstance(value, dict) and "metadata" in value
            return encode({**value, **changes} if is_declaration else value, *limits)

        runner.encode = changed

    return type(title, (Honest,), {"__init__": __init__})


def box(shape, low=-1.0, high=1.0, dtype="float32"):
    return {"type": "Box", "low": low, "high": high, "shape": shape, "dtype": dtype}


def tower(levels):
    space = box([2])
    for _ in range(levels):
        space = {"type": "Tuple", "spaces": [space]}
    return space


HugeSpace = declaring("HugeSpace", observation_space=box([2**13, 2**13, 2**13]))
NegativeSpace = declaring("NegativeSpace", observation_space=box([-1, -5]))
NanSpace = declaring("NanSpace", observation_space=box([2], low=float("nan")))
UnknownSpace = declaring("UnknownSpace", action_space={"type": "os.system", "cmd": "id"})
DeepSpace = declaring("DeepSpace", observation_space=tower(36))
ManySpaces = declaring(
    "ManySpaces", observation_space={"type": "Tuple", "spaces": [box([2**20])] * 100}
)
TEXT = {"type": "Text", "max_length": 2**40, "min_length": 2**40, "charset": "ab"}
DISCRETE = {"type": "Discrete", "n": 2**40, "start": 0, "dtype": "int64"}


def nested(kind, levels, space=None, **more):
    space = space or {**DISCRETE, "n": 2}
    for _ in range(levels):
        space = {"type": kind, "space" if kind == "Sequence" else "node_space": space, **more}
    return space


NestedSequences = declaring(
    "NestedSequences", observation_space=nested("Sequence", 12, stack=False)
)
NestedStacks = declaring("NestedStacks", action_space=nested("Sequence", 24, stack=True))
NestedGraphs = declaring("NestedGraphs", observation_space=nested("Graph", 24, edge_space=None))
HugeText = declaring("HugeText", action_space=TEXT)
HugeChoice = declaring("HugeChoice", action_space=DISCRETE)
LongMode = declaring("LongMode", render_mode="\x1b[2J")
NoSpace = declaring("NoSpace", action_space=None)
ObjectSpace = declaring("ObjectSpace", observation_space=box([2], dtype="object"))
MetadataList = declaring("MetadataList", metadata=[1, 2])
MetadataModes = declaring("MetadataModes", metadata={"render_modes": 5})
MetadataMany = declaring("MetadataMany", metadata={str(i): i for i in range(5000)})
MetadataRate = declaring("MetadataRate", metadata={"render_fps": float("nan")})
OtherBatch = declaring("OtherBatch", num_envs=1000)
OtherWrapper = declaring("OtherWrapper", rendering="os:system")
OtherAutoreset = declaring("OtherAutoreset", autoreset="Never")
NameList = declaring("NameList", name=["x"])


class Bomb(Honest):
    """A declaration of tens of megabytes."""

    def __init__(self):
        large = DecodeLimits(total_bytes=2**30, string_bytes=2**30)
        link = find_link()
        link.say(self.token(), Kind.VALUE, encode({"metadata": {"a": "x" * (40 << 20)}}, large))

    @staticmethod
    def token():
        import sys

        frame = sys._getframe()
        while "token" not in frame.f_locals:
            frame = frame.f_back
        return frame.f_locals["token"]


class Silent(Honest):
    """Closes everything and stays."""

    def __init__(self):
        os.closerange(0, 64)
        time.sleep(600)
