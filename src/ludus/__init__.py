"""Ludus: reinforcement learning environments with Gymnasium's API.

``import ludus as gym`` works like Gymnasium::

    env = gym.make("CartPole-v1")
    observation, info = env.reset(seed=42)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

The core classes, the spaces and the registry are imported at once, everything else on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ludus import error, errors, logger, spaces
from ludus.core import (
    ActionWrapper,
    Env,
    EnvSpec,
    ObservationWrapper,
    RewardWrapper,
    SecuritySpec,
    Wrapper,
    WrapperSpec,
)
from ludus.envs.builtin import register_builtin
from ludus.lazy import lazy_names
from ludus.registration import register, register_envs
from ludus.spaces import Space
from ludus.version import __version__

if TYPE_CHECKING:
    from ludus import (
        bench,
        checking,
        classic,
        codec,
        core,
        envs,
        experimental,
        interop,
        record,
        research,
        sandbox,
        seeding,
        testing,
        utils,
        vector,
        wrappers,
    )
    from ludus.core.state_files import load_state, save_state
    from ludus.registration import (
        VectorizeMode,
        make,
        make_vec,
        pprint_registry,
        registry,
        search,
        spec,
    )
    from ludus.serve.client.connect import connect

__all__ = [
    "ActionWrapper",
    "Env",
    "EnvSpec",
    "ObservationWrapper",
    "RewardWrapper",
    "SecuritySpec",
    "Space",
    "VectorizeMode",
    "Wrapper",
    "WrapperSpec",
    "__version__",
    "bench",
    "checking",
    "classic",
    "codec",
    "connect",
    "core",
    "envs",
    "error",
    "errors",
    "experimental",
    "interop",
    "load_state",
    "logger",
    "make",
    "make_vec",
    "pprint_registry",
    "record",
    "register",
    "register_envs",
    "registry",
    "research",
    "sandbox",
    "save_state",
    "search",
    "seeding",
    "spaces",
    "spec",
    "testing",
    "utils",
    "vector",
    "wrappers",
]

_MODULES = frozenset(
    {
        "bench",
        "checking",
        "classic",
        "codec",
        "experimental",
        "interop",
        "kernel",
        "record",
        "research",
        "sandbox",
        "testing",
        "utils",
        "vector",
        "wrappers",
    }
)
_FUNCTIONS = {
    "VectorizeMode": "registration",
    "connect": "serve.client.connect",
    "load_state": "core.state_files",
    "make": "registration",
    "make_vec": "registration",
    "pprint_registry": "registration",
    "save_state": "core.state_files",
    "search": "registration",
    "spec": "registration",
}

_load = lazy_names(__name__, _FUNCTIONS, modules=_MODULES)


def __getattr__(name: str) -> Any:
    if name == "registry":  # not kept: packages may have registered in Gymnasium since
        return importlib.import_module("ludus.registration.foreign").adopt_specs()
    return _load(name)


def __dir__() -> list[str]:
    return __all__


register_builtin()
