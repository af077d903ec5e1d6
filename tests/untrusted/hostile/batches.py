"""Batches that lie: the vector environment in the box is replaced."""

from __future__ import annotations

import struct
import time

import numpy as np
from honest import Honest, find_link

from ludus.untrusted.channel.protocol import ANSWER, Kind
from ludus.vector import SyncVectorEnv

_step = SyncVectorEnv.step


def lying(name, change):
    """Make an environment whose batches' results go through ``change``."""

    def step(self, actions):
        return change(*_step(self, actions))

    def __init__(self):
        Honest.__init__(self)
        SyncVectorEnv.step = step

    return type(name, (Honest,), {"__init__": __init__})


def flag_bytes(*result):
    """Answer past the runner, with flags that no runner could write."""
    link = find_link()
    flags = link._plan.flags(link.answer)
    flags[0] = 2
    token = struct.unpack_from("<Q", link.memory)[0]
    ANSWER.pack_into(link.answer, 0, token, Kind.RESULT, 0, 0, 0, 0.0)
    link.ring(token)
    time.sleep(600)


NO, YES = np.zeros(2, np.bool_), np.ones(2, np.bool_)
NeverEnds = lying("NeverEnds", lambda o, r, t, c, i: (o, r, NO, NO, i))
FlagBytes = lying("FlagBytes", flag_bytes)
FlagShape = lying("FlagShape", lambda o, r, t, c, i: (o, r, np.zeros(3, np.bool_), c, i))
RewardNan = lying("RewardNan", lambda o, r, t, c, i: (o, r + np.nan, t, c, i))
RewardShape = lying("RewardShape", lambda o, r, t, c, i: (o, np.zeros(5), t, c, i))
Outside = lying("Outside", lambda o, r, t, c, i: (o + 7, r, t, c, i))
OtherSize = lying("OtherSize", lambda o, r, t, c, i: (o[:1], r, t, c, i))
NoReset = lying("NoReset", lambda o, r, t, c, i: (o, r + 1, YES, c, i))
FinalMask = lying("FinalMask", lambda o, r, t, c, i: (o, r, t, c, finals(NO, [None, None])))
FinalLie = lying("FinalLie", lambda o, r, t, c, i: (o, r, t, c, finals(c, ["x", "y"])))
ShortColumn = lying("ShortColumn", lambda o, r, t, c, i: (o, r, t, c, {"a": column(["x"])}))
MaskLie = lying("MaskLie", lambda o, r, t, c, i: (o, r, t, c, {"a": 1, "_a": [True]}))


def column(entries):
    made = np.full(len(entries), None, dtype=object)
    made[:] = entries
    return made


def finals(mask, entries):
    return {"final_obs": column(entries), "_final_obs": mask}
