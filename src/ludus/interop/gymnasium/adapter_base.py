"""Base class of the adapters between Ludus and Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus.core.forwarding import ForwardsAttributes
from ludus.interop.gymnasium.exceptions import ErrorTranslation

__all__ = ["Adapter", "InnerAttribute"]


class InnerAttribute:
    """Attribute of an adapter that belongs to the inner environment.

    Args:
        read: Whether it is read from the inner environment (``""``) or its ``"unwrapped"``.
        write: The same for writing; ``None`` makes it read-only.
    """

    def __init__(self, read: str = "", write: str | None = "") -> None:
        self._read, self._write = read, write

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, adapter: Any, owner: type | None = None) -> Any:
        if adapter is None:
            return self
        inner = adapter._inner
        return getattr(inner.unwrapped if self._read else inner, self._name)

    def __set__(self, adapter: Any, value: Any) -> None:
        if self._write is None:
            raise AttributeError(f"{self._name} of {type(adapter).__name__} cannot be set")
        inner = adapter._inner
        setattr(inner.unwrapped if self._write else inner, self._name, value)


class Adapter(ForwardsAttributes):
    """An environment of one library that wraps one of the other, in ``_inner_name``."""

    _convert_spec: ClassVar[Any]
    _errors: ClassVar[ErrorTranslation]

    np_random: Any = InnerAttribute()
    np_random_seed: Any = InnerAttribute(write=None)
    render_mode: Any = InnerAttribute(write="unwrapped")

    def __init__(self, env: Any) -> None:
        self._spec: Any = None
        # Last, because from here on attributes that the environment has are set there.
        setattr(self, self._inner_name, env)

    @property
    def _inner(self) -> Any:
        return self.__dict__[self._inner_name]

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the inner environment and translate its exceptions."""
        try:
            return getattr(self._inner, method)(*args, **kwargs)
        except self._errors.caught as problem:
            raise self._errors.translated(problem) from problem

    def render(self) -> Any:
        """Render the inner environment."""
        return self._call("render")

    @property
    def spec(self) -> Any:
        """The spec that was assigned, else the inner environment's spec, converted."""
        if self._spec is None and self._inner.spec is not None:
            self._spec = self._convert_spec(self._inner.spec)
        return self._spec

    @spec.setter
    def spec(self, value: Any) -> None:
        self._spec = value
