"""Checks of ``render`` and of the render metadata."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.checking.findings import Findings, enforce, finding
from ludus.core.env import Env

__all__ = ["env_render_passive_checker", "is_number", "modes_findings", "render_findings"]


def env_render_passive_checker(env: Env[Any, Any]) -> Any:
    """Render, check the frame and the metadata, and return the frame unchanged.

    Raises:
        CheckFailed: The render mode is not declared, or the frame rate is not positive.
    """
    return enforce(render_findings(env))


def is_number(value: object) -> bool:
    """Return whether ``value`` is a Python or NumPy integer or float, not a boolean."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def render_findings(env: Env[Any, Any]) -> Findings[Any]:
    """Check the metadata and one call of ``render``; return the frame."""
    modes = env.metadata.get("render_modes")
    yield from modes_findings(modes)
    if modes is not None:
        if modes:
            yield from _fps_findings(env.metadata.get("render_fps"))
        yield from _chosen_mode_findings(env.render_mode, modes)
    frame = env.render()
    if env.render_mode is not None:
        yield from _frame_findings(env.render_mode, frame)
    return frame


def modes_findings(modes: Any) -> Findings[None]:
    """Check that ``metadata["render_modes"]`` is a list of strings."""
    if modes is None:
        yield finding(
            "render-modes",
            "No render modes was declared in the environment "
            "(env.metadata['render_modes'] is None or not defined).",
        )
    elif not isinstance(modes, list | tuple):
        yield finding(
            "render-modes",
            "Expects the render_modes to be a sequence (i.e. list, tuple), actual type: "
            f"{type(modes)}.",
        )
    elif not all(isinstance(mode, str) for mode in modes):
        yield finding(
            "render-modes",
            "Expects all render modes to be strings, actual types: "
            f"{[type(mode) for mode in modes]}.",
        )


def _fps_findings(fps: Any) -> Findings[None]:
    if fps is None:
        yield finding(
            "render-fps",
            "No render fps was declared in the environment "
            "(env.metadata['render_fps'] is None or not defined).",
        )
    elif not is_number(fps):
        yield finding(
            "render-fps",
            "Expects the `env.metadata['render_fps']` to be an integer or a float, actual type: "
            f"{type(fps)}.",
        )
    elif not fps > 0:
        yield finding(
            "render-fps",
            "Expects the `env.metadata['render_fps']` to be greater than zero, actual value: "
            f"{fps}.",
            "error",
        )


def _chosen_mode_findings(mode: str | None, modes: Any) -> Findings[None]:
    if mode is None:
        return
    if not modes:
        yield finding(
            "render-mode",
            "With no render_modes, expects the Env.render_mode to be None, actual value: "
            f"{mode!r}.",
        )
    elif mode not in modes:
        yield finding(
            "render-mode",
            "The environment was initialized with an unsupported render mode. "
            f"Render mode: {mode!r}, modes: {modes}.",
        )


def _frame_findings(mode: str, frame: Any) -> Findings[None]:
    if mode.endswith("_list"):
        if isinstance(frame, list):
            for item in frame:
                yield from _frame_findings(mode.removesuffix("_list"), item)
            return
        problem: str | None = f"Render mode `{mode}` should produce a list, got {type(frame)}"
    else:
        problem = _frame_problem(mode, frame)
    if problem is not None:
        yield finding("render-result", f"{problem}.")


def _frame_problem(mode: str, frame: Any) -> str | None:
    if mode == "human":
        wrong = frame is not None
        return f"Human rendering should return `None`, got {type(frame)}" if wrong else None
    if mode in ("ansi", "ascii"):
        wrong = not isinstance(frame, str)
        return f"ANSI/ASCII rendering should produce a string, got {type(frame)}" if wrong else None
    if mode == "rgb_array":
        return _array_problem("RGB-array", frame, "three", 3, np.uint8)
    if mode == "depth_array":
        return _array_problem("Depth-array", frame, "two", 2, None)
    return None


def _array_problem(
    kind: str, frame: Any, axes: str, ndim: int, dtype: type[np.generic] | None
) -> str | None:
    pre = f"{kind} rendering should return a numpy array"
    if not isinstance(frame, np.ndarray):
        return f"{pre}, got {type(frame)}"
    if dtype is not None and frame.dtype != dtype:
        return f"{pre} with dtype {dtype.__name__}, got {frame.dtype}"
    if frame.ndim != ndim:
        return f"{pre} with {axes} axes, got {frame.ndim}"
    if ndim == 3 and frame.shape[2] != 3:
        return f"{pre} in which the last axis has three dimensions, got {frame.shape[2]}"
    return None
