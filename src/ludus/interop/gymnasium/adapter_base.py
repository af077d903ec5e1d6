"""Base class of the adapters between Ludus and Gymnasium."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus.core.foreign.space import ForeignSpace
from ludus.core.foreign.spaces import parts_of
from ludus.core.forwarding import ForwardsAttributes
from ludus.interop.gymnasium.library import ErrorTranslation

__all__ = ["Adapter", "InnerAttribute", "LinkedSpace", "share_generators"]


class LinkedSpace:
    """Attribute of an adapter: the inner environment's space of that name, converted.

    It is converted again when the environment replaces its space, as some do on a reset. An
    assigned space is kept. The adapter needs ``_inner`` and ``_convert``.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._slot = name, f"_linked_{name}"

    def __get__(self, adapter: Any, owner: type | None = None) -> Any:
        if adapter is None:
            return self
        held = adapter.__dict__.get(self._slot)
        if isinstance(held, _Link) or held is None:
            inner = getattr(adapter._inner, self._name)
            if held is None or held.inner is not inner:
                held = adapter.__dict__[self._slot] = _Link(inner, adapter._convert(inner))
            held.share()
            return held.outer
        return held

    def __set__(self, adapter: Any, value: Any) -> None:
        adapter.__dict__[self._slot] = value


def share_generators(adapter: Any) -> None:
    """Synchronise the generators of an adapter's spaces with those of the inner environment."""
    for held in adapter.__dict__.values():
        if type(held) is _Link:
            held.share()


class _Link:
    """A space and its conversion, which sample from the same generators.

    An environment may sample from its own spaces, which its users have seeded, or seed the spaces
    that its users sample from. So the generator that was replaced last is used by both.
    """

    def __init__(self, inner: Any, outer: Any) -> None:
        self.inner = inner
        self.outer = outer
        self._pairs = _pairs(inner, outer) if inner is not outer else []
        self._shared = [part._np_random for part, _ in self._pairs]

    def share(self) -> None:
        for number, (inner, outer) in enumerate(self._pairs):
            if inner._np_random is outer._np_random:
                continue
            if inner._np_random is not self._shared[number]:
                outer._np_random = inner._np_random
            else:
                inner._np_random = outer._np_random
            self._shared[number] = inner._np_random


def _pairs(inner: Any, outer: Any) -> list[tuple[Any, Any]]:
    inner = inner.original if isinstance(inner, ForeignSpace) else inner
    outer = outer.original if isinstance(outer, ForeignSpace) else outer
    found = [(inner, outer)] if inner is not outer and hasattr(inner, "_np_random") else []
    for parts in zip(parts_of(inner), parts_of(outer), strict=True):
        found += _pairs(*parts)
    return found


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
