"""Results that are not what was declared, through the runner as it is."""

from __future__ import annotations

import numpy as np
from honest import Honest

from ludus.spaces import Box, Dict, Discrete, Text, Tuple


def returning(name, place, value):
    """Make an environment whose steps have ``value()`` at one place of the result."""

    def result(self):
        made = Honest.result(self)
        made[place] = value()
        return made

    return type(name, (Honest,), {"result": result})


class Claims:
    """Claims to be an array, and does things when asked what it is."""

    __class__ = np.ndarray
    dtype, shape = np.dtype(np.float32), (2,)

    def __array__(self, *args, **kwargs):
        raise MemoryError("gotcha")

    def __repr__(self):
        raise SystemExit(7)

    __str__ = __float__ = __bool__ = __len__ = __repr__


class Sub(np.ndarray):
    def __array_finalize__(self, other):
        pass


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def cycle():
    value: dict = {}
    value["self"] = value
    return value


OutOfBounds = returning("OutOfBounds", 0, lambda: np.full(2, 2, np.float32))
NotANumber = returning("NotANumber", 0, lambda: np.full(2, np.nan, np.float32))
Infinite = returning("Infinite", 0, lambda: np.full(2, np.inf, np.float32))
WrongShape = returning("WrongShape", 0, lambda: np.zeros(3, np.float32))
WrongDtype = returning("WrongDtype", 0, lambda: np.zeros(2))
Huge = returning("Huge", 0, lambda: np.zeros(2**24, np.float32))
Objects = returning("Objects", 0, lambda: np.array([object(), None]))
NoArray = returning("NoArray", 0, lambda: [0.0, 0.0])
Pretender = returning("Pretender", 0, Claims)
Subclass = returning("Subclass", 0, lambda: np.full(2, 5, np.float32).view(Sub))
RewardText = returning("RewardText", 1, lambda: "1.0")
RewardNan = returning("RewardNan", 1, lambda: float("nan"))
RewardInf = returning("RewardInf", 1, lambda: float("inf"))
RewardComplex = returning("RewardComplex", 1, lambda: 1 + 1j)
RewardHuge = returning("RewardHuge", 1, lambda: 10**400)
RewardArray = returning("RewardArray", 1, lambda: np.zeros(5))
FlagTwo = returning("FlagTwo", 2, lambda: 2)
FlagNone = returning("FlagNone", 3, lambda: None)
FlagText = returning("FlagText", 2, lambda: "yes")
InfoNone = returning("InfoNone", 4, lambda: 5)
InfoDeep = returning("InfoDeep", 4, lambda: {"a": nested(50)})
InfoCycle = returning("InfoCycle", 4, cycle)
InfoKeys = returning("InfoKeys", 4, lambda: {(1, 2): 3})
InfoIntKeys = returning("InfoIntKeys", 4, lambda: {7: 3})
InfoHuge = returning("InfoHuge", 4, lambda: {"a": np.zeros(2**22)})
InfoMany = returning("InfoMany", 4, lambda: {"a": [0] * 50_000})
InfoCode = returning("InfoCode", 4, lambda: {"a": Claims()})
InfoObjects = returning("InfoObjects", 4, lambda: {"a": np.array([print])})
SixParts = type("SixParts", (Honest,), {"result": lambda self: [*Honest.result(self), 1]})


class ChangesShape(Honest):
    steps = 0

    def observation(self):
        self.steps += 1
        return np.zeros(2 if self.steps < 3 else 4, np.float32)


class ChangesSpaces(Honest):
    def reset(self, **kwargs):
        self.observation_space = Box(-100.0, 100.0, (2,), np.float32)
        return super().reset(**kwargs)

    def observation(self):
        return np.full(2, 50, np.float32)


class TextLie(Honest):
    def __init__(self):
        super().__init__()
        self.observation_space = Text(5, charset="ab")

    def reset(self, **kwargs):
        return "ab", {}

    def observation(self):
        return "\x1b[2Jab"


class PartsLie(Honest):
    def __init__(self):
        super().__init__()
        self.observation_space = Dict(a=Discrete(3), b=Tuple([Discrete(2), Box(0, 1, (40,))]))

    def reset(self, **kwargs):
        return {"a": 1, "b": (0, np.zeros(40, np.float32))}, {}

    def observation(self):
        return {"a": 1, "b": (0, np.full(40, 1.5, np.float32))}


class KeysLie(PartsLie):
    def observation(self):
        return {"a": 1, "b": (0, np.zeros(40, np.float32)), "c": 1}


class FrameLie(Honest):
    def render(self):
        return np.zeros(2**21, np.uint8)


class FrameCode(Honest):
    def render(self):
        return Claims()
