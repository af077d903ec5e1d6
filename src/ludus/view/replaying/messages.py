"""Messages between the server and its worker processes.

One message is a line of JSON and then the payloads that the line announces. A worker runs code of
environments, so what it sends is limited and checked while it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ludus.errors import Error

__all__ = ["Message", "WorkerFailed", "read_message", "write_message"]

_LONGEST_LINE = 2**22
_MOST_PAYLOADS = 256
_MOST_BYTES = 2**28


class WorkerFailed(Error):
    """A worker process was stopped, ended, or sent something else than a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A JSON object, and bytes beside it."""

    data: Mapping[str, Any]
    payloads: tuple[bytes, ...] = ()


def write_message(
    stream: BinaryIO, data: Mapping[str, Any], payloads: Sequence[bytes] = ()
) -> None:
    """Write a message and flush it."""
    head = {**data, "payloads": [len(one) for one in payloads]}
    stream.write(json.dumps(head, allow_nan=False).encode() + b"\n")
    for one in payloads:
        stream.write(one)
    stream.flush()


def read_message(stream: BinaryIO) -> Message | None:
    """Read a message; ``None`` at the end of the stream.

    Raises:
        WorkerFailed: It is damaged or too large.
    """
    line = stream.readline(_LONGEST_LINE)
    if not line:
        return None
    try:
        data = json.loads(line)
        sizes = data.pop("payloads")
        whole = all(type(size) is int and size >= 0 for size in sizes)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as problem:
        raise WorkerFailed(f"The worker process sent no message: {line[:100]!r}.") from problem
    if not whole or len(sizes) > _MOST_PAYLOADS or sum(sizes) > _MOST_BYTES:
        raise WorkerFailed(f"The worker process announced {sizes!r:.100} bytes.")
    payloads = []
    for size in sizes:
        payload = stream.read(size)
        if len(payload) < size:
            raise WorkerFailed("The worker process ended in the middle of a message.")
        payloads.append(payload)
    return Message(data, tuple(payloads))
