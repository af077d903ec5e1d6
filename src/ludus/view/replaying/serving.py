"""The main loop of a worker process."""

from __future__ import annotations

import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO, NoReturn

from ludus.view.replaying.limits import apply_limits
from ludus.view.replaying.messages import Message, read_message, write_message

__all__ = ["Answer", "Handler", "serve"]

Answer = tuple[Mapping[str, Any], Sequence[bytes]]
"""The data of an answer, and its payloads."""
Handler = Callable[[Mapping[str, Any]], Answer]
"""Answers one request."""

_LONGEST = 2000


def serve(prepare: Callable[[Mapping[str, Any]], Handler]) -> NoReturn:
    """Apply the limits of the first message, then answer requests until the server goes away.

    ``prepare`` takes the first message and returns what answers the others. What an environment
    prints does not reach the server. A failure is an answer, too: ``{"error": text}``.
    """
    answers = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    warnings.simplefilter("ignore")
    order = read_message(requests)
    if order is None:
        os._exit(0)
    limits = order.data["limits"]
    apply_limits(limits["memory"], limits["cpu_seconds"])
    waiting: queue.Queue[Message] = queue.Queue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    handler: Handler | None = None
    while True:
        request = waiting.get()
        try:
            if handler is None:
                for module in order.data.get("imports", ()):
                    import_module(module)
                handler = prepare(order.data)
            data, payloads = handler(request.data)
            write_message(answers, data, payloads)
        except MemoryError:
            write_message(answers, {"error": "There was not enough memory.", "kind": "memory"})
        except (Exception, SystemExit) as problem:  # code of environments may raise anything
            text = f"{problem}"[:_LONGEST]
            write_message(answers, {"error": text, "kind": type(problem).__name__})


def _receive(requests: BinaryIO, waiting: queue.Queue[Message]) -> None:
    """Put requests into the queue; end the process with the server, even during a step."""
    try:
        while (request := read_message(requests)) is not None:
            waiting.put(request)
    finally:
        sys.stdout.flush()
        os._exit(0)
