"""Throw mutated bytes at the codec and at the reader of state files.

``python -m tests.codec.fuzz --target codec --inputs 1000000``

Each input must end in the declared exception or in a value, never in another exception, a hang or
unbounded memory. A value must be one that encodes to exactly the input; after a refusal the
environment must be as it was. Inputs follow from the seed alone, so that a failure can be repeated.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ludus.codec import DecodeLimits, decode, encode
from ludus.core.env import Env
from ludus.core.state_files import load_state, save_state
from ludus.errors import CodecError, StateFileError
from ludus.spaces import Box, Discrete

CEILING = 2.0
"""Seconds of processor time that one input may take."""

LIMITS = DecodeLimits(total_bytes=2**20, array_bytes=2**20, items=100_000)

VALUES: list[Any] = [
    None,
    {"a": 1.5, "steps": 12, "won": False},
    [0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**64 - 1, -1, -32, -33, -(2**31), -(2**63)],
    [2**64, -(2**63) - 1, 2**127, -(2**200)],
    {"text": "ä漢😀" * 9, "raw": b"\0\xff" * 150, "": {}},
    {1: (1, (2, [3, {"x": ()}])), -5: [], 2**63: [[[[]]]]},
    [np.zeros((2, 3), kind) for kind in "?bhilBHILefdFD"],
    [np.dtype(kind).type(1) for kind in "?bhilBHILefdFD"],
    [np.array(["ab", "ß"]), np.array([b"abc", b""]), np.zeros((0, 5)), np.array(3.0)],
    np.arange(200, dtype=np.float32).reshape(10, 20),
    [{"k": i, "v": [float(i)] * 3} for i in range(20)],
]

HEADERS = [
    *(bytes((head,)) for head in (*range(0x80, 0x100, 3), *range(0xC0, 0xE0))),
    *(
        bytes((head,)) + length
        for head in (0xC6, 0xC9, 0xDB, 0xDD, 0xDF)
        for length in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\x01\0\0")
    ),
    *(
        b"\xc7" + bytes((2 + 4 * axes, 3, code, axes))
        for axes in range(4)
        for code in range(15, 33)
    ),
    *(b"\xd4\x01\x00", b"\xd4\x10\x01", b"\xc7\x09\x02", b"\xd8\x1d", b"\xd6\xff\0\0\0\0"),
    *(b"\x80\x04\x95", b"PK\x03\x04", b"\x93NUMPY", b"cos\nsystem\n", b"\xed\xa0\x80", b"\xc0\x80"),
]
NUMBERS = (0, 1, 15, 16, 31, 32, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1)


def mutate(data: bytes, corpus: list[bytes], rng: random.Random) -> bytes:
    """Return the data after a few random changes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(9)
        if kind == 0 and changed:
            changed[at % len(changed)] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[at % len(changed)] = rng.randrange(256)
        elif kind == 2:
            del changed[at:]
        elif kind == 3:
            del changed[at : at + rng.randrange(1, 9)]
        elif kind == 4:
            other = rng.choice(corpus)
            start = rng.randrange(len(other) + 1)
            changed[at : at + rng.randrange(9)] = other[start : start + rng.randrange(40)]
        elif kind == 5:
            header = rng.choice(HEADERS)
            changed[at : at + rng.choice((0, 1, len(header)))] = header
        elif kind == 6:
            width = rng.choice((1, 2, 4))
            number = (rng.choice(NUMBERS) + rng.randrange(-1, 2)) % 256**width
            changed[at : at + width] = number.to_bytes(width, "big")
        elif kind == 7:
            changed[at:at] = changed[at : at + rng.randrange(60)] * rng.choice((1, 2, 30))
        else:
            changed[at:at] = rng.randbytes(rng.randrange(9))
    return bytes(changed[:100_000])


def codec_target(_: Path) -> tuple[list[bytes], Callable[[bytes, random.Random], bool]]:
    """Return a corpus, and a function that tries an input and tells whether it was accepted."""

    def attempt(data: bytes, _: random.Random) -> bool:
        try:
            value = decode(data, LIMITS)
        except CodecError as problem:
            if problem.position is None or not 0 <= problem.position <= len(data):
                raise Failure("the error has no position") from problem
            return False
        if encode(value, LIMITS) != data:
            raise Failure("the value does not encode to the input")
        return True

    return [encode(value) for value in VALUES], attempt


class Walk(Env[Any, Any]):
    """An environment whose state has something of every kind."""

    state_fields = ("board", "history", "name", "position")
    observation_space = Box(-1, 1, (2,))
    action_space = Discrete(2)

    def __init__(self) -> None:
        self.position = 0.5
        self.name = "start"
        self.board = np.arange(6, dtype=np.int16).reshape(2, 3)
        self.history: list[Any] = [1, (2, "x")]
        self.np_random.random()


def state_target(folder: Path) -> tuple[list[bytes], Callable[[bytes, random.Random], bool]]:
    """The same for files: most are sealed anew, so that the mutation gets past the hash."""
    env, path = Walk(), folder / "state"
    save_state(env, path)
    whole = path.read_bytes()
    header = len(whole) - int.from_bytes(whole[10:18], "big")
    before = env.get_state()
    before_bytes = encode(before)
    corpus = [whole[header:], encode({"ludus": "1", "about": None, "state": before}), *VALUES_BYTES]

    def attempt(data: bytes, rng: random.Random) -> bool:
        choice = rng.randrange(10)
        if choice == 0:
            path.write_bytes(mutate(whole, corpus, rng))
        elif choice < 5:
            path.write_bytes(seal(encode(graft(decode(corpus[rng.randrange(2)]), rng))))
        else:
            path.write_bytes(seal(data))
        try:
            load_state(path, env, limits=LIMITS)
        except StateFileError:
            if encode(env.get_state()) != before_bytes:
                raise Failure("a refused state has changed the environment") from None
            return False
        env.set_state(before)
        return True

    return corpus, attempt


def graft(value: Any, rng: random.Random) -> Any:
    """Return the value with a random part replaced, removed or added."""
    if isinstance(value, dict | list) and value and rng.random() < 0.9:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.05:
            del value[key]
        elif rng.random() < 0.05 and isinstance(value, dict):
            value["added"] = value[key]
        else:
            value[key] = graft(value[key], rng)
        return value
    return rng.choice(VALUES)


VALUES_BYTES = [encode(value) for value in VALUES]


def seal(content: bytes) -> bytes:
    """Return a whole state file around some content, without the disk's ceremony."""
    from ludus.codec import sealed_file
    from ludus.core import state_files

    return sealed_file._seal(state_files._MARK, state_files._FORMAT, content) + content


class Failure(Exception):
    """An input did what none may do."""


@dataclass
class Outcome:
    """What became of a run."""

    accepted: int
    refused: int
    slowest: float
    seconds: float
    peak_growth_mb: float


TARGETS = {"codec": codec_target, "state": state_target}


def run(
    target: str, inputs: int, seed: int, report: Callable[[int], None] | None = None
) -> Outcome:
    """Try that many inputs.

    Raises:
        Failure: One of them broke a rule; the message holds it.
    """
    rng = random.Random(seed)
    accepted, slowest, started = 0, 0.0, time.monotonic()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # In memory, where there is such a place: disks are slow at writing a file again and again.
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder, alarm() as rewind:
        corpus, attempt = TARGETS[target](Path(folder))
        for index in range(inputs):
            if index % 1000 == 0:
                rewind()
                if report is not None:
                    report(index)
            data = (
                rng.randbytes(rng.randrange(64))
                if index % 20 == 0
                else mutate(rng.choice(corpus), corpus, rng)
            )
            begun = time.process_time()
            try:
                accepted += attempt(data, rng)
            except Exception as problem:
                raise Failure(
                    f"input {index} of seed {seed}, {data.hex()}: {problem!r}"
                ) from problem
            spent = time.process_time() - begun
            slowest = max(slowest, spent)
            if spent > CEILING:
                raise Failure(f"input {index} of seed {seed}, {data.hex()}: took {spent:.1f} s")
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    seconds = time.monotonic() - started
    return Outcome(accepted, inputs - accepted, slowest, seconds, growth)


@contextmanager
def alarm() -> Iterator[Callable[[], None]]:
    """Interrupt what hangs; the function given out puts the alarm off by a minute."""

    def ring(*_: Any) -> None:
        raise Failure("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, 60) and None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.codec.fuzz", description=__doc__)
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    faulthandler.enable()
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )
    shown: AbstractContextManager[Any] = bar if sys.stdout.isatty() else nullcontext()
    for target in TARGETS if chosen.target == "all" else [chosen.target]:
        task = bar.add_task(target, total=chosen.inputs)
        with shown:
            try:
                outcome = run(
                    target,
                    chosen.inputs,
                    chosen.seed,
                    lambda done, task=task: bar.update(task, completed=done),  # type: ignore[misc]
                )
            except Failure as problem:
                print(f"{target}: {problem}")
                return 1
            bar.update(task, completed=chosen.inputs)
        print(f"{target}: {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
