"""Registration of the algorithmic family."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_COMMON: dict[str, Any] = {
    "max_episode_steps": 200,
    "family": "algorithmic",
    "author": "Ludus",
    "licence": "MIT",
    "tags": ("algorithmic", "discrete-action", "curriculum", "partially-observed"),
    "security": SecuritySpec(trust="builtin"),
}


def _entry(file: str, name: str) -> dict[str, Any]:
    path = f"ludus.envs.algorithmic.{file}:{name}"
    return {"entry_point": path, "vector_entry_point": f"{path}.vector", **_COMMON}


SPECS = (
    EnvSpec(
        "Copy-v0",
        reward_threshold=25.0,
        description="Copy the symbols of a tape.",
        **_entry("copy_input", "CopyEnv"),
    ),
    EnvSpec(
        "RepeatCopy-v0",
        reward_threshold=75.0,
        description="Write the symbols of a tape forwards, backwards and forwards again.",
        **_entry("repeat_copy", "RepeatCopyEnv"),
    ),
    EnvSpec(
        "DuplicatedInput-v0",
        reward_threshold=9.0,
        description="Write each symbol of a tape once, where every symbol stands twice.",
        **_entry("duplicated_input", "DuplicatedInputEnv"),
    ),
    EnvSpec(
        "Reverse-v0",
        reward_threshold=25.0,
        description="Write the symbols of a tape backwards.",
        **_entry("reverse", "ReverseEnv"),
    ),
    EnvSpec(
        "ReversedAddition-v0",
        reward_threshold=25.0,
        description="Add two numbers in base 3, written one below the other, lowest digit first.",
        **_entry("reversed_addition", "ReversedAdditionEnv"),
    ),
    EnvSpec(
        "ReversedAddition3-v0",
        reward_threshold=25.0,
        kwargs={"rows": 3},
        description="Add three numbers in base 3, written one below the other, lowest digit first.",
        **_entry("reversed_addition", "ReversedAdditionEnv"),
    ),
)
