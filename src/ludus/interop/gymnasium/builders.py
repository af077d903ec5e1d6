"""Entry points of the Ludus environments in Gymnasium's registry."""

from __future__ import annotations

from typing import Any

from ludus.interop.gymnasium.specs import LudusEntryPoint
from ludus.interop.gymnasium.vector_adapter import to_autoreset_mode, to_gymnasium_vector
from ludus.registration import find_spec, make_vec

__all__ = ["make_env", "make_vec_env"]


def make_env(ludus_id: str, **kwargs: Any) -> Any:
    """Build a Ludus environment for Gymnasium."""
    spec = find_spec(ludus_id)
    return LudusEntryPoint(spec)(**{**spec.kwargs, **kwargs})


def make_vec_env(ludus_id: str, num_envs: int = 1, **kwargs: Any) -> Any:
    """Build a Ludus vector environment for Gymnasium."""
    kwargs = {name: to_autoreset_mode(value) for name, value in kwargs.items()}
    return to_gymnasium_vector(make_vec(ludus_id, num_envs=num_envs, **kwargs))
