"""Messages of the binary sub-protocol ``ludus.binary.v1``.

Each WebSocket message is binary and one list in the encoding of ``ludus.codec``: MessagePack with
arrays as extensions, and no code. A client sends ``[op, number, *fields]`` and gets exactly one
answer, ``[kind, number, *fields]`` with the same number; only SEND has none.

=========  =========================  ===========================================================
op         fields                     answer
=========  =========================  ===========================================================
HELLO      what to open, a dict       VALUE: the declaration
RESET      seed, options              VALUE: [observation, info]
STEP       action                     VALUE: [observation, reward, terminated, truncated, info]
STEPS      actions, count             VALUE: [count, observations, rewards, terminated, truncated,
                                      infos], each with ``count`` entries along its first axis
SEND       rows, actions              none
RECV       count                      VALUE: [rows, observations, rewards, terminated, truncated,
                                      infos], of the first ``count`` environments that are ready
RENDER                                VALUE: what the environment draws
GET_STATE                             VALUE: its state
SET_STATE  state                      VALUE: None
CALL       name, arguments            VALUE: what a method returns that may be called
GET_ATTR   name                       VALUE: an attribute that may be read
CLOSE                                 VALUE: None; then the server closes the connection
=========  =========================  ===========================================================

Any request may be answered by ERROR: code, message, name of the exception's class. In a batch,
actions and observations have one entry per environment along their first axis, and infos are merged
as by ``ludus.make_vec``; arrays of objects in them are written as tuples of a mark and a list. An
answer that cannot be decoded, or has another number, ends the connection; so does a request.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ludus.codec import DecodeLimits, decode, encode
from ludus.errors import CodecError

__all__ = [
    "ANSWER_LIMITS",
    "MOST_ENV_STEPS",
    "MOST_STEPS",
    "PROTOCOL",
    "REQUEST_LIMITS",
    "Kind",
    "Op",
    "read_request",
    "write",
]

PROTOCOL = "ludus.binary.v1"
"""Name of the WebSocket sub-protocol; the number changes if older peers cannot go on."""

MOST_STEPS = 4096
"""Steps of one STEPS request."""
MOST_ENV_STEPS = 2**20
"""The same, times the number of environments."""

REQUEST_LIMITS = DecodeLimits(
    total_bytes=2**26, depth=64, items=2**19, array_bytes=2**26, int_keys=2000
)
"""How large a request may be."""
ANSWER_LIMITS = DecodeLimits(
    total_bytes=2**27, depth=90, items=2**21, array_bytes=2**27, string_bytes=2**25
)
"""How large an answer may be."""


class Op(IntEnum):
    """What a client asks for."""

    HELLO = 0
    RESET = 1
    STEP = 2
    STEPS = 3
    SEND = 4
    RECV = 5
    RENDER = 6
    GET_STATE = 7
    SET_STATE = 8
    CALL = 9
    GET_ATTR = 10
    CLOSE = 11


class Kind(IntEnum):
    """What an answer is."""

    VALUE = 0
    ERROR = 1


_FIELDS: dict[int, tuple[type | tuple[type, ...], ...]] = {
    Op.HELLO: (dict,),
    Op.RESET: ((int, list, type(None)), (dict, type(None))),
    Op.STEP: (object,),
    Op.STEPS: (object, int),
    Op.SEND: (object, object),
    Op.RECV: (int,),
    Op.RENDER: (),
    Op.GET_STATE: (),
    Op.SET_STATE: (object,),
    Op.CALL: (str, list),
    Op.GET_ATTR: (str,),
    Op.CLOSE: (),
}


def write(kind: int, number: int, fields: list[Any], limits: DecodeLimits = ANSWER_LIMITS) -> bytes:
    """Return a message.

    Raises:
        CodecError: A field is no plain data, or too large.
    """
    return encode([kind, number, *fields], limits, name="message")


def read_request(data: bytes) -> tuple[int, int, list[Any]]:
    """Return operation, number and fields of a client's message.

    Raises:
        CodecError: It is no request.
    """
    message = decode(data, REQUEST_LIMITS)
    if type(message) is not list or len(message) < 2:
        raise CodecError("A request is a list that begins with an operation and a number.")
    op, number, *fields = message
    if type(op) is not int or type(number) is not int or not 0 <= number < 2**63:
        raise CodecError("A request begins with an operation and a number.")
    expected = _FIELDS.get(op)
    if expected is None:
        raise CodecError(f"There is no operation {op}; they are 0 to {max(_FIELDS)}.")
    if len(fields) != len(expected):
        raise CodecError(f"{Op(op).name} has {len(expected)} fields, got {len(fields)}.")
    for field, kinds in zip(fields, expected, strict=True):
        # A bool is no int here.
        if not isinstance(field, kinds) or (kinds is int and type(field) is bool):
            raise CodecError(f"A field of {Op(op).name} is of type {type(field).__name__}.")
    return op, number, fields
