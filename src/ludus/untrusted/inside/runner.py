"""The sandbox's main program."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

from ludus.codec import decode, encode
from ludus.untrusted.channel.protocol import Kind, MessagePlan
from ludus.untrusted.inside.link import Link
from ludus.untrusted.inside.servant import LARGE, Servant, described

__all__ = ["main"]


def main() -> None:
    """Build the requested environment and serve it until the host is gone."""
    link = Link(os.dup(0), os.dup(1))
    # What the environment prints must not mix with answers.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    request = link.hear()
    if request is None:
        return
    token, _, extra = request
    try:
        recipe: dict[str, Any] = decode(extra, LARGE)
        _borrow_kernels(recipe["kernels"])
        # After the paths are known: the environment's package may come with any of its imports.
        from ludus.untrusted.inside.building import build, prepare

        prepare(recipe)
        env, spaces, declared = build(recipe)
        plan = MessagePlan.of(*spaces, recipe["num_envs"])
        link.say(token, Kind.VALUE, encode(declared, LARGE))
    except BaseException as problem:  # any error is reported to the host
        link.say(token, Kind.RAISED, described(problem))
        return
    request = link.hear()
    if request is None:
        return
    token, _, extra = request
    link.attach(recipe["memory"] if decode(extra) else None, plan, spins=recipe["spins"])
    link.say(token, Kind.VALUE, encode(None))
    # Existing objects stay, so that the collector need not scan them.
    gc.freeze()
    Servant(env, link, plan, spaces).serve()


def _borrow_kernels(source: str | None) -> None:
    """Link the host's compiled kernels into the sandbox's own cache."""
    if source is None:
        return
    folder = Path(os.environ["LUDUS_CACHE"]) / "ludus" / "kernels"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    try:
        names = os.listdir(source)  # noqa: PTH208 - names are all that is needed, thousands of them
    except OSError:
        return
    for name in names:
        if name.endswith(".o"):
            (folder / name).symlink_to(f"{source}/{name}")
