"""Constants of a kernel's params as attributes of its environment."""

from __future__ import annotations

from typing import Any, Self

from ludus.envs.arguments import number

__all__ = ["Flag", "KernelParameter", "Parameter"]


class Parameter:
    """A descriptor that reads and sets ``env.params``; on the class it is the default value.

    So ``env.gravity = 5.0`` changes the dynamics from the next step on, and ``Env.gravity`` is the
    default. Subclasses for other values than numbers override :meth:`pack` and :meth:`unpack`.

    Args:
        default: The value before anything is set.
        field: The name of the field of params; the attribute's own name if not given.
    """

    def __init__(self, default: Any, field: str = "") -> None:
        self.default = default
        self.field = field
        self.name = ""

    def pack(self, value: Any) -> dict[str, Any]:
        """Return the fields of params for a value; raise for invalid values."""
        return {self.field: number(self.name, value)}

    def unpack(self, params: Any) -> Any:
        """Return the value in params."""
        return getattr(params, self.field)

    def with_default(self, default: Any) -> Self:
        """Return the same parameter with another default."""
        other = type(self)(default, self.field)
        other.name = self.name
        return other

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.field = self.field or name

    def __get__(self, env: Any, owner: type | None = None) -> Any:
        return self.default if env is None else self.unpack(env.params)

    def __set__(self, env: Any, value: Any) -> None:
        env.params = env.params._replace(**self.pack(value))


class Flag(Parameter):
    """A parameter that is true or false."""

    def pack(self, value: Any) -> dict[str, Any]:
        """Return the field as a bool."""
        return {self.field: bool(value)}


class KernelParameter(Parameter):
    """A parameter that also decides which kernel runs."""

    def __set__(self, env: Any, value: Any) -> None:
        super().__set__(env, value)
        # Objects built for the other kernel cannot be used; everything else is kept.
        env.__setstate__(env.__getstate__())
