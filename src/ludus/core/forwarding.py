"""Forwards attribute access from an adapter to the adapted environment."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["ForwardsAttributes"]


class ForwardsAttributes:
    """Mix-in of adapters that forwards attributes they lack to the inner object.

    So ``env.unwrapped.gravity = 5`` has the same effect with and without the adapter. The subclass
    names the attribute that holds the object in :attr:`_inner_name`.
    """

    _inner_name: ClassVar[str]

    def __getattr__(self, name: str) -> Any:
        # Copying and unpickling access an object that has no attributes yet.
        if name == self._inner_name or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        inner = getattr(self, self._inner_name)
        look_up = getattr(inner, "get_wrapper_attr", None)
        return getattr(inner, name) if look_up is None else look_up(name)

    def __setattr__(self, name: str, value: Any) -> None:
        inner = self.__dict__.get(self._inner_name)
        if inner is None or name in self.__dict__ or hasattr(type(self), name):
            super().__setattr__(name, value)
        elif hasattr(inner, "set_wrapper_attr"):
            if not inner.set_wrapper_attr(name, value, force=False):
                super().__setattr__(name, value)
        elif hasattr(inner, name):
            setattr(inner, name, value)
        else:
            super().__setattr__(name, value)
