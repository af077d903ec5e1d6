"""Output and time: floods, silence, and boxes that stay too long."""

from __future__ import annotations

import time
from typing import Any

from ludus.errors import SandboxError
from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held
from tests.sandbox.attacks.host import deadline, end_carriers, members, survivors

__all__ = ["ATTACKS"]


def _flood(stream: int, bounded: bool = True) -> Any:
    def act(scene: Scene, attack: Attack) -> Outcome:
        blocks = 128 if bounded else 10**9 if not scene.naive else 1024
        script = f"for _ in range({blocks}):\n    os.write({stream}, b'x' * 65536)\n"
        script += f"time.sleep({0 if bounded else 9})\nos._exit(0)\n"
        with deadline(8):
            completed = scene.python(script, timeout=4 if bounded else 1)
        kept = len(completed.stdout if stream == 1 else completed.stderr)
        cut = completed.stdout_cut if stream == 1 else completed.stderr_cut
        if kept > 2 * 65536:
            return broke(f"{kept} bytes kept where 65536 were allowed")
        if bounded and kept + cut != 128 * 65536:
            return Outcome("INVALID", f"{kept} kept + {cut} cut are not what was written")
        return held(f"{kept} kept, {cut} cut")

    return act


def _outlive(field: str) -> Any:
    """Sleep for longer than allowed; nobody stops it where nobody looks."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        start, length = time.monotonic(), 0.5 if scene.naive else 2.5
        options = {"idle": 0.5} if field == "idle" else {}
        try:
            scene.box.run(["sleep", str(length)], timeout=6, **options)
        except SandboxError as error:
            return held(f"ended by {type(error).__name__}")
        elapsed = time.monotonic() - start
        late = elapsed >= 0.95 * length
        return broke(f"ran {elapsed:.1f} s") if late else held(f"ended at {elapsed:.1f} s")

    return act


def _outlive_unwatched(scene: Scene, attack: Attack) -> Outcome:
    """Start something, never ask for it again, and see whether it ends with the box's time."""
    mark = f"26.{int(scene.token, 16) % 10**9:09}"
    scene.stack.callback(end_carriers, mark)
    started = scene.box.spawn(["sleep", mark])
    sought, look = (scene.box.name, members) if scene.own_kernel else (mark, None)
    if not survivors(sought, 0.0, look):
        return Outcome("INVALID", "it was never seen running")
    time.sleep(1.0)
    left = survivors(sought, 0.1 if scene.naive else 1.5, look)
    end_carriers(mark)
    if scene.naive:
        started.wait()
    return broke("still running long after the box's time") if left else held("ended in time")


def _outlive_in_shell(scene: Scene, attack: Attack) -> Outcome:
    start, length = time.monotonic(), 0.5 if scene.naive else 2.5
    try:
        with scene.box.shell() as shell:
            shell.run(f"sleep {length}", timeout=5)
    except SandboxError as error:
        return held(f"ended by {type(error).__name__}")
    elapsed = time.monotonic() - start
    late = elapsed >= 0.95 * length
    return broke(f"ran {elapsed:.1f} s") if late else held(f"ended at {elapsed:.1f} s")


ATTACKS = (
    Attack(
        name="flood_stdout",
        threat="the memory of the host's program",
        policy={"output": 65536},
        act=_flood(1),
        everywhere=True,
    ),
    Attack(
        name="flood_stderr",
        threat="the memory of the host's program",
        policy={"output": 65536},
        act=_flood(2),
        everywhere=True,
    ),
    Attack(
        name="flood_without_end",
        threat="the host's program, reading for ever",
        policy={"output": 65536},
        act=_flood(1, bounded=False),
        everywhere=True,
    ),
    Attack(
        name="outlive_wall_clock",
        threat="a machine that is paid by the hour",
        policy={"wall": 1.0},
        act=_outlive("wall"),
        everywhere=True,
    ),
    Attack(
        name="outlive_wall_clock_in_shell",
        threat="the same, by a command of a shell",
        policy={"wall": 1.0},
        act=_outlive_in_shell,
        everywhere=True,
    ),
    Attack(
        name="outlive_wall_clock_unwatched",
        threat="the same, by a process that nobody waits for",
        policy={"wall": 1.0},
        act=_outlive_unwatched,
        everywhere=True,
    ),
    Attack(
        name="stay_silent",
        threat="a slot that a hanging command keeps",
        act=_outlive("idle"),
        everywhere=True,
    ),
)
