"""What an attack is: a hostile script, the stage it needs, and who decides whether it got through.

A script prints one line, ``HELD: reason`` or ``BROKE: evidence``. Where the box could lie about
it, the evidence is the host's: a canary that only a host file holds, a listener that was
reached, a process that still runs. A script that says nothing proves nothing and is ``INVALID``,
so that a misspelt attack can never pass for a strong defence.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.sandbox import Mount
from tests.sandbox.attacks.boxes import give_back, lend, open_box
from tests.sandbox.attacks.prelude import PRELUDE

__all__ = ["Attack", "Outcome", "Scene", "broke", "held", "run_script", "shows_canary"]

PYTHON = "/usr/bin/python3"


@dataclass(frozen=True, slots=True)
class Outcome:
    """HELD, BROKE or INVALID, and the reason or evidence."""

    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.word}: {self.text}"


def held(reason: str) -> Outcome:
    return Outcome("HELD", reason)


def broke(evidence: str) -> Outcome:
    return Outcome("BROKE", evidence)


@dataclass(slots=True)
class Scene:
    """One performance: the box, the host's side of the stage, and what is cleaned up after it."""

    backend: str
    folder: Path
    stack: ExitStack = field(default_factory=ExitStack)
    policy: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    box: Any = None
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def naive(self) -> bool:
        """Whether there is no defence of any kind."""
        return self.backend == "naive"

    @property
    def boxed(self) -> bool:
        """Whether the backend isolates."""
        return self.backend not in {"naive", "process"}

    @property
    def own_kernel(self) -> bool:
        """Whether the box has a kernel of its own, whose processes the host does not see."""
        return self.backend == "gvisor"

    @property
    def slowness(self) -> float:
        """How much longer than elsewhere a command takes: a kernel has to start before it."""
        return 5.0 if self.own_kernel else 1.0

    @property
    def canary(self) -> str:
        return f"canary-{self.token}"

    @property
    def workspace(self) -> str:
        """The writable folder as the box sees it."""
        return str(self.box.workspace or "/workspace")

    def inside(self, name: str) -> str:
        return f"{self.workspace}/{name}"

    def open_box(self) -> Any:
        """Open a box with the scene's policy; it is closed with the scene."""
        box = open_box(self.backend, self.policy, self.folder)
        self.stack.callback(box.close)
        return box

    def take_box(self) -> Any:
        """Take the box that is attacked: like a fresh one, and closed or left for the next."""
        box = lend(self.backend, self.policy, self.folder)
        self.stack.callback(give_back, self.backend, dict(self.policy), box)
        return box

    def public_folder(self, mode: int = 0o755) -> Path:
        """A host folder that file permissions hide from nobody."""
        made = Path(tempfile.mkdtemp(prefix=f"ludus-{self.token}-", dir="/tmp"))
        self.stack.callback(shutil.rmtree, made, ignore_errors=True)
        made.chmod(mode)
        return made

    def share(self, source: Path) -> str:
        """Mount a host folder read-only into the box; return its path inside."""
        if not self.boxed:
            return str(source)
        mounts = (*self.policy.get("mounts", ()), Mount(str(source), "/shared"))
        self.policy["mounts"] = mounts
        return "/shared"

    def python(self, script: str, *, timeout: float = 5.0, **options: Any) -> Any:
        """Run a Python script inside, with the prelude and the scene's parameters."""
        params = {"boxed": self.boxed, "token": self.token, "workspace": self.workspace}
        argv = self.python_argv(script, {**params, **self.params})
        return self.box.run(argv, timeout=timeout * self.slowness, **options)

    def python_argv(self, script: str, params: Mapping[str, Any]) -> list[str]:
        return [PYTHON, "-I", "-S", "-c", PRELUDE + script, json.dumps(params)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One row of a theme's table."""

    name: str
    threat: str
    """What the host loses when it succeeds."""
    script: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Scene], None] | None = None
    """Sets the host's stage; runs before the box is opened."""
    act: Callable[[Scene, Attack], Outcome] | None = None
    """Performs the attack where running the script is not all of it."""
    verdict: Callable[[Scene, Outcome], Outcome] | None = None
    """Corrects what the script claims by what the host sees."""
    cannot_succeed_unboxed: str = ""
    needs_root: bool = False
    """The unboxed proof needs root."""
    promised_to_root: bool = False
    """Rests on something that only root can do, such as giving boxes users of their own."""
    death_holds: bool = False
    """Being killed (out of memory, seccomp) counts as held."""
    everywhere: bool = False
    """Aims at shared mechanics, so it must fail even without isolation."""
    own_kernel: str = ""
    """Why the host loses nothing by it where the box has a kernel of its own."""
    timeout: float = 5.0

    def perform(self, scene: Scene) -> Outcome:
        """Stage, attack and judge; whatever the stage holds is released afterwards."""
        with scene.stack:
            scene.policy.update(self.policy)
            if self.prepare:
                self.prepare(scene)
            scene.box = scene.take_box()
            outcome = (self.act or run_script)(scene, self)
            return self.verdict(scene, outcome) if self.verdict else outcome


def run_script(scene: Scene, attack: Attack) -> Outcome:
    """Run the attack's script inside and read its verdict line."""
    return read_outcome(scene.python(attack.script, timeout=attack.timeout), attack.death_holds)


def read_outcome(completed: Any, death_holds: bool = False) -> Outcome:
    lines = completed.stdout.decode(errors="replace").splitlines()
    for line in reversed(lines):
        word, _, text = line.partition(": ")
        if word in {"HELD", "BROKE"}:
            return Outcome(word, text)
    signalled = completed.returncode < 0 or completed.returncode > 128
    if death_holds and (signalled or completed.oom_killed) and not completed.timed_out:
        number = -completed.returncode if completed.returncode < 0 else completed.returncode - 128
        return held(f"killed by {_signal_name(number)}")
    said = (completed.stdout + completed.stderr)[-600:].decode(errors="replace")
    return Outcome(
        "INVALID",
        f"no verdict; returned {completed.returncode}, late={completed.timed_out}: {said}",
    )


def shows_canary(scene: Scene, outcome: Outcome) -> Outcome:
    """Believe a success only when it shows the canary."""
    if outcome.word == "BROKE" and scene.canary not in outcome.text:
        return Outcome("INVALID", f"claims a success without the canary: {outcome.text}")
    return outcome


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def is_root() -> bool:
    return os.geteuid() == 0
