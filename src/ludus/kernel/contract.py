"""Kernels: an environment's dynamics as plain functions of NamedTuples.

The functions and their parameters::

    initial(params, rng) -> State               or  initial(params, state, rng)
    transition(params, state, action, rng) -> State
    observation(params, state) -> numbers       or  observation(params, state, out)
    reward(params, state, action, next_state) -> float
    terminal(params, state) -> bool
    info(params, state) -> NamedTuple           optional
    valid(params, state) -> bool                optional
    first_observation                           as observation, optional

``params`` holds the constants, ``state`` what changes; scalars are passed by value, array fields
are changed in place. Transcendental functions come from :mod:`ludus.kernel.math`, random numbers
from :mod:`ludus.kernel.random`, both imported by name. The same source then runs as plain Python
and compiled, for one environment, a batch or whole rollouts, with the same bits.
"""

from __future__ import annotations

import dis
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ludus.errors import KernelError
from ludus.spaces import Space

__all__ = ["COMPILED_ROLES", "Field", "Kernel"]

Function = Callable[..., Any]
_SCALARS = {float: "float", int: "int", bool: "bool"}


class Field(NamedTuple):
    """One field of a kernel's params, state or info; the kind is float, int, bool or array."""

    name: str
    kind: str


@dataclass(frozen=True, eq=False)
class Kernel:
    """The functions of one environment and their types.

    Args:
        name: Name in messages.
        params: NamedTuple class of the constants.
        state: NamedTuple class of the state.
        initial: Draws the first state of an episode.
        transition: Returns the next state.
        observation: Returns or writes the observation of a state.
        reward: Returns the reward of a transition.
        terminal: Returns whether a state ends the episode.
        spaces: From params to the pair (observation space, action space).
        info: Returns further numbers about a state.
        state_arrays: From params to the shape and dtype of each array field of the state.
        valid: Returns whether a state that is set from outside is valid, above all whether its
            indices are in range. A kernel with arrays and without ``valid`` checks every index at
            every step, which is slower.
        first_observation: Returns or writes the observation of an episode's first state, if that
            differs from ``observation``.

    Raises:
        KernelError: A function has other parameters than those above, or a field an unknown type.
    """

    name: str
    params: type
    state: type
    initial: Function
    transition: Function
    observation: Function
    reward: Function
    terminal: Function
    spaces: Callable[[Any], tuple[Space[Any], Space[Any]]]
    info: Function | None = None
    state_arrays: Callable[[Any], dict[str, tuple[tuple[int, ...], Any]]] | None = None
    valid: Function | None = None
    first_observation: Function | None = None

    def __post_init__(self) -> None:
        for role, allowed in _SIGNATURES.items():
            function = getattr(self, role)
            if function is None and role in _OPTIONAL:
                continue
            if not isinstance(function, FunctionType):
                raise KernelError(
                    f"Kernel {self.name}: {role} is not a plain function but "
                    f"{type(function).__name__}; pass a module-level `def` without decorators "
                    "that replace it."
                )
            found = tuple(inspect.signature(function).parameters)
            if found not in allowed:
                shown = " or ".join(f"{role}({', '.join(names)})" for names in allowed)
                raise KernelError(
                    f"Kernel {self.name}: {role} has the parameters ({', '.join(found)}); write "
                    f"{shown}. {_where(function)}"
                )
        for fields in (self.params, self.state):
            if not (isinstance(fields, type) and issubclass(fields, tuple)) or not hasattr(
                fields, "_fields"
            ):
                raise KernelError(f"Kernel {self.name}: {fields!r} is not a NamedTuple class.")
        if self.first_observation is not None and self.writes_observation != _has_out(
            self.first_observation
        ):
            raise KernelError(
                f"Kernel {self.name}: observation and first_observation must both take 'out', or "
                f"neither. {_where(self.first_observation)}"
            )
        if self.array_fields and self.state_arrays is None:
            raise KernelError(
                f"Kernel {self.name}: the state has the array fields {self.array_fields}; give "
                "their shapes and dtypes with state_arrays."
            )

    @cached_property
    def state_fields(self) -> list[Field]:
        """The fields of the state."""
        return _fields(self.name, self.state)

    @cached_property
    def param_fields(self) -> list[Field]:
        """The fields of the params."""
        return _fields(self.name, self.params)

    @cached_property
    def info_fields(self) -> list[Field]:
        """The fields of the info, empty if there is none."""
        return [] if self.info is None else _fields(self.name, self.info_class)

    @cached_property
    def info_class(self) -> Any:
        """The NamedTuple class that ``info`` is annotated to return."""
        made = typing.get_type_hints(self.info).get("return")
        if made is None or not hasattr(made, "_fields"):
            raise KernelError(
                f"Kernel {self.name}: annotate info's return value with the NamedTuple class it "
                f"returns. {_where(self.info)}"
            )
        return made

    @cached_property
    def is_bundled(self) -> bool:
        """Whether all its functions are part of Ludus and checked by its tests."""
        functions = (getattr(self, role) for role in COMPILED_ROLES)
        modules = (getattr(one, "__module__", None) or "" for one in functions if one is not None)
        return all(module.startswith("ludus.") for module in modules)

    @cached_property
    def observes_one_number(self) -> bool:
        """Whether ``observation`` is annotated to return a number instead of a tuple."""
        annotated = self.observation.__annotations__.get("return", "")
        return annotated in ("int", "float", int, float)

    @cached_property
    def state_kinds(self) -> dict[str, str]:
        """The kinds of the state's fields, by their names."""
        return {field.name: field.kind for field in self.state_fields}

    @cached_property
    def array_fields(self) -> list[str]:
        """The names of the state's array fields."""
        return [name for name, kind in self.state_kinds.items() if kind == "array"]

    @cached_property
    def float_fields(self) -> list[str]:
        """The names of the state's floats."""
        return [name for name, kind in self.state_kinds.items() if kind == "float"]

    @cached_property
    def int_fields(self) -> list[str]:
        """The names of the state's ints and bools, which are stored as ints."""
        return [name for name, kind in self.state_kinds.items() if kind in ("int", "bool")]

    @cached_property
    def keeps_state(self) -> bool:
        """Whether ``initial`` receives the previous state."""
        return "state" in inspect.signature(self.initial).parameters

    @cached_property
    def writes_observation(self) -> bool:
        """Whether ``observation`` fills an array instead of returning numbers."""
        return _has_out(self.observation)

    @cached_property
    def transition_draws(self) -> bool:
        """Whether ``transition`` uses its ``rng``."""
        return any(
            "LOAD" in instruction.opname and instruction.argval == "rng"
            for instruction in dis.get_instructions(self.transition)
        )

    @cached_property
    def checks_indices(self) -> bool:
        """Whether compiled code checks each index, as Python does."""
        fields = (*self.state_fields, *self.param_fields)
        arrays = self.writes_observation or any(field.kind == "array" for field in fields)
        return arrays and self.valid is None

    @cached_property
    def vectorises(self) -> bool:
        """Whether its loop can use vector instructions: no random numbers, no arrays."""
        return not (self.transition_draws or self.array_fields or self.writes_observation)


_SIGNATURES: dict[str, tuple[tuple[str, ...], ...]] = {
    "initial": (("params", "rng"), ("params", "state", "rng")),
    "transition": (("params", "state", "action", "rng"),),
    "observation": (("params", "state"), ("params", "state", "out")),
    "reward": (("params", "state", "action", "next_state"),),
    "terminal": (("params", "state"),),
    "info": (("params", "state"),),
    "valid": (("params", "state"),),
    "first_observation": (("params", "state"), ("params", "state", "out")),
}
_OPTIONAL = ("info", "valid", "first_observation")
COMPILED_ROLES = tuple(role for role in _SIGNATURES if role != "valid")
"""Names of the functions that a driver calls."""


def _fields(kernel: str, owner: Any) -> list[Field]:
    hints = typing.get_type_hints(owner)
    fields = []
    for name in owner._fields:
        kind = _SCALARS.get(hints[name])
        if kind is None:
            origin = typing.get_origin(hints[name]) or hints[name]
            if not (isinstance(origin, type) and issubclass(origin, np.ndarray)):
                raise KernelError(
                    f"Kernel {kernel}: {owner.__name__}.{name} is annotated {hints[name]!r}; use "
                    "float, int, bool or np.ndarray."
                )
            kind = "array"
        fields.append(Field(name, kind))
    return fields


def _has_out(function: Function) -> bool:
    return "out" in inspect.signature(function).parameters


def _where(function: Function | None) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"({code.co_filename}, line {code.co_firstlineno})"
