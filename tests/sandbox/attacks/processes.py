"""Processes: outliving the command, the time-out or the box, and striking at the host's."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ludus.errors import SandboxError
from ludus.sandbox import sweep
from tests.sandbox.attacks.attack import (
    Attack,
    Outcome,
    Scene,
    broke,
    held,
    read_outcome,
    shows_canary,
)
from tests.sandbox.attacks.boxes import SLOW
from tests.sandbox.attacks.host import (
    Hang,
    deadline,
    end_carriers,
    members,
    on_kernel,
    survivors,
    victim,
)

__all__ = ["ATTACKS"]

PATIENCE = 1.0

# Each ends with a process whose command line carries the token, sleeping for a long time.
SLEEP = "subprocess.Popen(['sleep', P['sleep']], **quiet)"
QUIET = "quiet = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)\n"
SHAPES: dict[str, tuple[str, str]] = {
    "background": ("a child in the background", SLEEP),
    "loud_background": (
        "a child that keeps the output open",
        "subprocess.Popen(['sleep', P['sleep']])",
    ),
    "double_fork": (
        "an orphan, which a walk over the children misses",
        "os.fork() or os.fork() or os.execvp('sleep', ['sleep', P['sleep']])",
    ),
    "daemon": (
        "a daemon in a session of its own, which killing the group misses",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        os.closerange(0, 256)
        os.execvp("sleep", ["sleep", P["sleep"]])
    os._exit(0)
""",
    ),
    "deaf": (
        "a child that ignores every polite signal",
        """
if os.fork() == 0:
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    os.execvp("sleep", ["sleep", P["sleep"]])
""",
    ),
    "stopped": (
        "a stopped child, which handles no signal until it is continued",
        "child = " + SLEEP + "\nchild.send_signal(signal.SIGSTOP)",
    ),
    "without_death_signal": (
        "a child that clears its parent-death signal",
        """
if os.fork() == 0:
    libc.prctl(1, 0, 0, 0, 0)
    os.setsid()
    os.execvp("sleep", ["sleep", P["sleep"]])
""",
    ),
    "respawning": (
        "children that start each other faster than they are killed one by one",
        """
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        if os.fork() == 0:
            pass
        else:
            time.sleep(0.05)
            os._exit(0)
    os._exit(0)
""",
    ),
}


def _mark(scene: Scene) -> None:
    """A length of sleep that no other process has, to find the sleeper by."""
    scene.kept["sleep"] = scene.params["sleep"] = f"25.{int(scene.token, 16) % 10**9:09}"
    for token in (scene.kept["sleep"], scene.token):
        scene.stack.callback(end_carriers, token)


def _after(scene: Scene, moment: str, name: str = "") -> Outcome:
    patience = PATIENCE if not scene.naive else 0.1
    if scene.own_kernel:
        left = survivors(name or scene.box.name, patience, members)
    else:
        left = survivors(scene.token, patience) or survivors(scene.kept["sleep"], patience)
    return broke(f"{len(left)} still running after {moment}") if left else held("all gone")


def _survive_timeout(shape: str) -> Callable[[Scene, Attack], Outcome]:
    def act(scene: Scene, attack: Attack) -> Outcome:
        with deadline(8):
            scene.python(QUIET + SHAPES[shape][1] + "\ntime.sleep(20)", timeout=0.5)
        return _after(scene, "the time-out")

    return act


def _survive_close(shape: str) -> Callable[[Scene, Attack], Outcome]:
    def act(scene: Scene, attack: Attack) -> Outcome:
        with deadline(12):
            script = QUIET + SHAPES[shape][1] + "\ntime.sleep(0.1)\nos._exit(0)"
            scene.python(script, timeout=2 if not scene.naive else 1)
            scene.box.close()
        return _after(scene, "the box was closed")

    return act


def _kept_background(scene: Scene, attack: Attack) -> Outcome:
    """Background that was allowed to outlive its command ends with the box all the same."""
    with deadline(10):
        shell = scene.stack.enter_context(scene.box.shell())
        command = f"setsid sleep {scene.kept['sleep']} >/dev/null 2>&1 & echo out"
        shell.run(command, timeout=2, keep_background=True)
        seen = (
            on_kernel(scene.box, shell._job, scene.kept["sleep"])
            if scene.own_kernel
            else survivors(scene.kept["sleep"], 0.0)
        )
        if not seen:
            return Outcome("INVALID", "the background was not kept")
        scene.box.close()
    return _after(scene, "the box was closed")


def _outlive_owner(moment: str, times: int = 1) -> Callable[[Scene, Attack], Outcome]:
    """Kill the program that owns a box, as hard as can be; a sweep may help afterwards."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        for _ in range(min(times, 2) if scene.backend in SLOW else times):
            name = _lose_owner(scene, moment)
            if not name:
                return Outcome("INVALID", "the owner did not open a box")
            if scene.boxed and _after(scene, "its owner was killed", name).word == "BROKE":
                sweep()
            if (outcome := _after(scene, "its owner was killed", name)).word == "BROKE":
                return outcome
            if scene.boxed:
                sweep()
                if groups := _groups(name):
                    return broke(f"left behind: {groups}")
        return outcome

    return act


def _groups(name: str) -> list[str]:
    """The control groups that bear a box's name; those of others may vanish meanwhile."""
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if name in folder]


def _lose_owner(scene: Scene, moment: str) -> str:
    argv = [sys.executable, "-m", "tests.sandbox.attacks.owner", scene.backend, str(scene.folder)]
    child = subprocess.Popen([*argv, scene.kept["sleep"], moment], stdout=subprocess.PIPE)
    assert child.stdout
    try:
        with deadline(20):
            return child.stdout.readline().decode().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _close_under_commands(scene: Scene, attack: Attack) -> Outcome:
    """Close boxes while other threads start and end commands in them; nobody may wait for ever."""
    wrong: list[str] = []

    def run(box: Any) -> None:
        try:
            box.run(["sh", "-c", "sleep 0.02"], timeout=5)
        except SandboxError:
            return
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    for number in range(0, 12, 4 if scene.backend in SLOW else 1):
        box = scene.open_box()
        threads = [threading.Thread(target=run, args=(box,), daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.006 * number)
        with deadline(8):
            box.close()
        for thread in threads:
            thread.join(8)
        if any(thread.is_alive() for thread in threads):
            return broke("a command never came back from a box that was closed")
    return broke(f"the host got {wrong[0]}") if wrong else held("every command came back")


def _hold_output(scene: Scene, attack: Attack) -> Outcome:
    """The command ends at once; a child of it keeps the pipes."""
    command = f"sleep {scene.params['sleep']} & echo out"
    with deadline(10):
        completed = scene.box.run(["sh", "-c", command], timeout=3 if not scene.naive else 0.5)
    if completed.timed_out:
        return broke("the command had ended, the host went on waiting")
    if completed.stdout != b"out\n":
        return Outcome("INVALID", f"the output was lost: {completed.stdout!r}")
    return held("returned at once")


def _evade(name: str, threat: str, script: str) -> Attack:
    """Keep running past the time-out; whatever it takes, the host must be free in time."""

    def act(scene: Scene, attack: Attack) -> Outcome:
        start = time.monotonic()
        try:
            with deadline(4 * scene.slowness):
                completed = scene.python(attack.script, timeout=0.5)
        except Hang as hang:
            return broke(str(hang))
        if time.monotonic() - start < 0.3:
            return Outcome("INVALID", f"it ended by itself: {completed.stderr[-300:]!r}")
        if (after := _after(scene, "the time-out")).word == "BROKE":
            return after
        return held("killed in time") if completed.timed_out else broke("not marked as late")

    return Attack(name=name, threat=threat, script=script, act=act, prepare=_mark, everywhere=True)


DEAF = "for n in range(1, 32):\n    n in (9, 19) or signal.signal(n, signal.SIG_IGN)\n"
EVASIONS = (
    _evade(
        "evade_timeout_by_loop_and_child",
        "a processor, by a busy child that was never waited for",
        DEAF + "os.fork() and time.sleep(20)\nuntil = time.monotonic() + 6\n"
        "while time.monotonic() < until: pass",
    ),
    _evade(
        "evade_timeout_by_closing_output",
        "a slot: end of file looks like the end of the command",
        DEAF + "os.fork() and time.sleep(20)\nos.closerange(0, 64)\ntime.sleep(20)",
    ),
    _evade(
        "evade_timeout_by_vfork",
        "a slot: a parent of vfork answers to nothing but SIGKILL",
        "libc.vfork() == 0 and libc.sleep(20)\nos._exit(0)",
    ),
    _evade(
        "evade_timeout_by_stopping",
        "a slot: a stopped process never handles SIGTERM",
        "os.fork() and time.sleep(20)\nos.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(20)",
    ),
    _evade(
        "evade_timeout_by_new_session",
        "a slot, by leaving the process group that is killed",
        "os.fork() and time.sleep(20)\nos.setsid()\ntime.sleep(20)",
    ),
)


def _all_namespaces(scene: Scene) -> None:
    victim(scene)
    scene.params["pids"] = os.readlink("/proc/self/ns/pid")  # noqa: PTH115


# In a process namespace of its own this reaches the box only; the guard makes sure of that first.
STRIKE = """
own = os.readlink("/proc/self/ns/pid") != P["pids"]
if not own:
    os.kill(P["pid"], 0)
    broke("shares its processes with the host; nothing was sent")
signal.signal(signal.SIGALRM, lambda *_: held("nobody answered"))
"""


def _struck(scene: Scene, attack: Attack) -> Outcome:
    """Whatever happened inside, the host is alive and its call came back."""
    try:
        with deadline(10 * scene.slowness):
            completed = scene.python(attack.script, timeout=2)
    except Hang as hang:
        return broke(str(hang))
    if scene.kept["victim"].poll() is not None:
        return broke("a process of the host died")
    outcome = read_outcome(completed, death_holds=True)
    return held("only the box was hit") if outcome.word == "INVALID" else outcome


def _eat_input(scene: Scene, attack: Attack) -> Outcome:
    """Read standard input while the host's own has something to say."""
    reader, writer = os.pipe()
    own = os.dup(0)
    os.dup2(reader, 0)
    try:
        os.write(writer, scene.canary.encode() + b"\n")
        if scene.boxed:
            with deadline(4 * scene.slowness):
                return read_outcome(scene.python(attack.script, timeout=2))
        argv = scene.python_argv(attack.script, {"boxed": False, "token": scene.token})
        return broke(
            subprocess.run(argv, stdout=subprocess.PIPE, timeout=3, check=True).stdout.decode()
        )
    finally:
        os.dup2(own, 0)
        for descriptor in (own, reader, writer):
            os.close(descriptor)


def _rows(
    moment: str, make: Callable[[str], Callable[[Scene, Attack], Outcome]]
) -> tuple[Attack, ...]:
    return tuple(
        Attack(
            name=f"survive_{moment}_as_{shape}",
            threat=f"processors and memory after the {moment}: {what}",
            prepare=_mark,
            act=make(shape),
        )
        for shape, (what, _) in SHAPES.items()
    )


ATTACKS = (
    *_rows("timeout", _survive_timeout),
    *_rows("close", _survive_close),
    *EVASIONS,
    Attack(
        name="hold_output_after_end",
        threat="the host's program, waiting for output that never ends",
        prepare=_mark,
        act=_hold_output,
        everywhere=True,
    ),
    Attack(
        name="survive_close_as_kept_background",
        threat="processors and memory after the box",
        prepare=_mark,
        act=_kept_background,
    ),
    Attack(
        name="survive_owner",
        threat="processors and memory after the program that owned the box was killed",
        prepare=_mark,
        act=_outlive_owner("running"),
    ),
    Attack(
        name="survive_owner_at_start",
        threat="the same, when it was killed before the box had tied itself to it",
        prepare=_mark,
        act=_outlive_owner("starting", times=4),
    ),
    Attack(
        name="close_under_commands",
        threat="threads of the host's program that never come back",
        act=_close_under_commands,
        cannot_succeed_unboxed="where nothing is closed nothing waits",
        everywhere=True,
    ),
    Attack(
        name="kill_everything",
        threat="every process of the host: kill(-1)",
        prepare=_all_namespaces,
        act=_struck,
        script=STRIKE + "os.kill(-1, signal.SIGKILL)\nheld('done')",
    ),
    Attack(
        name="stop_everything",
        threat="the host's supervisor, stopped so that no time-out fires",
        prepare=_all_namespaces,
        act=_struck,
        script=STRIKE
        + """
for target in (-1, os.getppid(), 1):
    try:
        os.kill(target, signal.SIGSTOP)
    except OSError:
        pass
held('done')
""",
    ),
    Attack(
        name="eat_host_input",
        threat="what the user types, or what another program was meant to read",
        act=_eat_input,
        script="text = os.read(0, 999).decode()\nbroke(text) if 'canary' in text else held('no')",
        verdict=shows_canary,
    ),
)
