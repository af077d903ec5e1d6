"""Frames of one environment, also of one in a batch, and as bytes."""

from __future__ import annotations

from typing import Any

from ludus.core.vector_env import VectorEnv
from ludus.errors import Error
from ludus.kernel.vector_env import KernelVectorEnv
from ludus.png import as_image, to_png
from ludus.record.replay.subject import AnyEnv
from ludus.vector.sync_vector_env import SyncVectorEnv

__all__ = ["DRAWN", "draw", "frame_rate", "render_mode_of", "to_bytes"]

DRAWN = ("rgb_array", "ansi")
"""The render modes that give frames."""
_MOST_DRAWN = 64
_MOST_TEXT = 2**18


def draw(env: AnyEnv, index: int) -> Any:
    """Return what ``render`` returns for one environment; of a batch, only that one is drawn.

    Raises:
        Error: There is no such environment, or all of a large batch would have to be drawn.
    """
    if not isinstance(env, VectorEnv):
        return env.render()
    if not 0 <= index < env.num_envs:
        raise Error(f"The batch has {env.num_envs} environments, and none has the number {index}.")
    inner = env.unwrapped
    if isinstance(inner, SyncVectorEnv):
        return inner.envs[index].render()
    if isinstance(inner, KernelVectorEnv):
        return inner.render_one(index)
    if env.num_envs > _MOST_DRAWN:
        raise Error(
            f"{type(inner).__name__} draws all of its {env.num_envs} environments at once; at most "
            f"{_MOST_DRAWN} are drawn here."
        )
    frames = env.render()
    if frames is None or len(frames) <= index:
        raise Error(f"{type(inner).__name__}.render() returned no frame of environment {index}.")
    return frames[index]


def to_bytes(frame: Any, mode: str) -> tuple[str, bytes]:
    """Return the kind of a frame, ``png`` or ``text``, and its content.

    Raises:
        Error: It is no image, or no text.
    """
    if mode == "rgb_array":
        return "png", to_png(as_image(frame))
    text = frame.getvalue() if hasattr(frame, "getvalue") else frame
    if not isinstance(text, str):
        raise Error(f"render() returned {type(frame).__name__}, and text is expected.")
    return "text", text[:_MOST_TEXT].encode("utf-8", "replace")


def render_mode_of(metadata: Any) -> str | None:
    """Return the render mode that gives frames, if there is one."""
    modes = metadata.get("render_modes") or ()
    return next((one for one in DRAWN if one in modes), None)


def frame_rate(metadata: Any) -> float | None:
    """Return the frames per second, if a sensible number of them is declared."""
    fps = metadata.get("render_fps")
    is_rate = isinstance(fps, int | float) and not isinstance(fps, bool) and 0 < fps <= 1000
    return float(fps) if is_rate else None
