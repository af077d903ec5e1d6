"""Type variables and aliases of the environment contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    # Importing typing_extensions would take 3 % of the time to the first step.
    import sys
    import typing

    def TypeVar(name, default):  # noqa: N802
        if sys.version_info >= (3, 13):
            return typing.TypeVar(name, default=default)
        made = typing.TypeVar(name)
        made.__default__ = default  # where typing_extensions looks for it
        return made


__all__ = [
    "ActType",
    "ArrayType",
    "DefaultsToAny",
    "ObsType",
    "RenderFrame",
    "State",
    "WrapperActType",
    "WrapperObsType",
]

ObsType = TypeVar("ObsType", default=Any)
ActType = TypeVar("ActType", default=Any)
WrapperObsType = TypeVar("WrapperObsType", default=Any)
WrapperActType = TypeVar("WrapperActType", default=Any)
RenderFrame = TypeVar("RenderFrame", default=Any)
ArrayType = TypeVar("ArrayType", default=Any)


class DefaultsToAny:
    """Base class of generic classes: type parameters that are not given are ``Any``."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, given):
            given = given if isinstance(given, tuple) else (given,)
            missing = len(cls.__parameters__) - len(given)
            return super().__class_getitem__(given + (Any,) * missing)


State: TypeAlias = dict[str, Any]
"""What ``get_state`` returns: numbers, strings, lists, dicts and arrays, nothing else."""
