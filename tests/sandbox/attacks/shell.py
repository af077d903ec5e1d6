"""The persistent shell: forged results, a shell that is broken for the commands after, escapees.

After every hostile command the next one must come back in time, exact to the byte, with its own
exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held
from tests.sandbox.attacks.host import Hang, deadline, end_carriers, on_kernel, survivors
from tests.sandbox.attacks.tricks import TRICKS, Trick

__all__ = ["ATTACKS"]

PROBE = '/bin/echo "alive $kept $PWD"; /bin/sh -c "exit 4"'


def _play(trick: Trick) -> Callable[[Scene, Attack], Outcome]:
    def act(scene: Scene, attack: Attack) -> Outcome:
        mark = f"25.{int(scene.token, 16) % 10**9:09}"
        scene.stack.callback(end_carriers, mark)
        try:
            with deadline(12 * scene.slowness), scene.box.shell() as shell:
                return _judge(scene, trick, shell, mark)
        except Hang as hang:
            return broke(str(hang))

    return act


def _judge(scene: Scene, trick: Trick, shell: Any, mark: str) -> Outcome:
    folder = f"{scene.workspace}/sub"
    shell.run(f"mkdir -p {folder} && cd {folder} && kept=yes", timeout=2)
    short = trick.late is not False or scene.naive
    timeout = 0.5 if short else trick.timeout
    first = shell.run(trick.command.replace("SLEEP", mark), timeout=timeout)
    if first.timed_out and trick.late is False and not (scene.own_kernel and trick.own_kernel):
        return broke(f"the host waited in vain: {first.stdout[-200:]!r} {first.stderr[-200:]!r}")
    if trick.code is not None and first.returncode != trick.code and not first.timed_out:
        return broke(f"exit code {first.returncode} instead of {trick.code}")
    if trick.stdout is not None and first.stdout != trick.stdout:
        return broke(f"output {first.stdout[:200]!r} instead of {trick.stdout[:200]!r}")
    if len(first.stdout) > 2 * 65536:
        return broke(f"{len(first.stdout)} bytes kept")
    look = _on(scene, shell) if scene.own_kernel else None
    if left := survivors(mark, 1.0 if not scene.naive else 0.1, look):
        return broke(f"{len(left)} processes outlived the command")
    return _probe(trick, shell, folder, 1.5 * scene.slowness if not scene.naive else 0.5)


def _on(scene: Scene, shell: Any) -> Callable[[str], list[int]]:
    """Look on the shell's own kernel; one that is gone has nothing on it."""
    return lambda mark: [] if shell._job is None else on_kernel(scene.box, shell._job, mark)


def _probe(trick: Trick, shell: Any, folder: str, timeout: float) -> Outcome:
    second = shell.run(PROBE, timeout=timeout)
    wanted = f"alive yes {folder}\n".encode() if trick.keeps else b"alive "
    if second.timed_out:
        return broke("the next command never came back")
    right = second.stdout == wanted if trick.keeps else second.stdout.startswith(wanted)
    if not right:
        return broke(f"the next command's output is {second.stdout[:200]!r}, not {wanted!r}")
    if second.returncode != 4:
        return broke(f"the next command's exit code is {second.returncode}, not 4")
    return held("exact")


ATTACKS = tuple(
    Attack(
        name=f"shell_{trick.name}",
        threat=trick.threat,
        act=_play(trick),
        policy=dict(trick.policy),
        cannot_succeed_unboxed=trick.unboxed,
        everywhere=True,
    )
    for trick in TRICKS
)
