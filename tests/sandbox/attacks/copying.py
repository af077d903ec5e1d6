"""The host's side of a copy: what it may do, and how an attack on it is judged.

A refusal of the copy is as good as a safe copy; hanging and crashing are neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ludus.errors import Error
from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held, read_outcome
from tests.sandbox.attacks.host import Hang, deadline, secret

__all__ = ["MIB", "brief", "copy", "hide", "holds_canary", "judge", "lay", "row"]

MIB = 1 << 20


def lay(scene: Scene, script: str) -> None:
    """Lay the trap; a trap that cannot be laid proves nothing."""
    outcome = read_outcome(scene.python(script + "\nheld('ready')"))
    if outcome.text != "ready":
        raise RuntimeError(f"the trap was not laid: {outcome}")


def copy(action: Callable[[], Any], seconds: float = 4.0) -> str:
    """Copy as the host would: refusals of our own kind are fine, hanging or crashing is not."""
    try:
        with deadline(seconds):
            action()
    except Hang as hang:
        return f"BROKE: {hang}"
    except Error as error:
        return f"refused: {type(error).__name__}"
    except (OSError, ValueError) as error:
        return f"refused: {type(error).__name__}"
    except Exception as error:
        return f"BROKE: the host crashed with {type(error).__name__}"
    return "copied"


def brief(scene: Scene) -> float:
    """How long a copy may take that must not wait for anything."""
    return 2.0 if not scene.naive else 0.3


def judge(said: str, evidence: str) -> Outcome:
    if said.startswith("BROKE: "):
        return broke(said.removeprefix("BROKE: "))
    return broke(evidence) if evidence else held(said)


def holds_canary(scene: Scene, place: Path) -> str:
    """Whether a canary came along; special files are not opened."""
    for path in (place, *place.rglob("*")):
        if path.is_symlink():
            target = os.path.realpath(path)
            if target.startswith(str(scene.folder)) and scene.kept["secret"] == Path(target):
                return f"a link to the secret now lies on the host: {path.name!r}"
        elif path.is_file() and scene.canary in path.read_text(errors="replace"):
            return f"the secret was copied to {path.name!r}"
    return ""


def hide(scene: Scene) -> None:
    scene.kept["secret"] = path = secret(scene)
    scene.params |= {"secret": str(path), "hidden": str(path.parent)}
    scene.kept["target"] = scene.folder / "target"


def row(name: str, threat: str, act: Callable[..., Outcome], **more: Any) -> Attack:
    """A row about copying, which every backend does with the same code."""
    return Attack(name=name, threat=threat, act=act, **{"everywhere": True, **more})
