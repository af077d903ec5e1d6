"""Batches of values.

``create_empty_array`` allocates a batch, ``concatenate`` fills it with single values, ``iterate``
returns them. Each is a ``functools.singledispatch`` function: ``iterate.register(MySpace)``
adds a type of space.
"""

# ruff: noqa: ARG001 - all implementations of a function share one signature

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludus.errors import CustomSpaceError
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError, conversion_hint
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["concatenate", "create_empty_array", "iterate", "refuse"]

_ArraySpace: TypeAlias = Box | Discrete | MultiDiscrete | MultiBinary


def refuse(function: str, space: object) -> NoReturn:
    """Raise because ``function`` has no implementation for this type of space.

    Raises:
        CustomSpaceError: It is a space; its class can be registered.
        SpaceTypeError: It is not a space.
    """
    kind = type(space)
    if isinstance(space, Space):
        raise CustomSpaceError(
            f"`{function}` has no implementation for spaces of type `{kind}`. Register one with "
            f"`{function}.register({kind.__name__})`."
        )
    raise SpaceTypeError(
        f"`{function}` needs a Space, but {space!r} is not a Space instance; its type: {kind}"
        f"{conversion_hint(space)}"
    )


@singledispatch
def iterate(space: Space[Any], items: Any) -> Iterator[Any]:
    """Iterate over the single values in a batch.

    Args:
        space: The space of the batch.
        items: The batch.

    Raises:
        CustomSpaceError: There is no implementation for this type of space.
        SpaceTypeError: ``space`` is not a space, or its values cannot be iterated over.

    Example:
        >>> list(iterate(batch_space(Discrete(4), 2), np.array([3, 1])))
        [np.int64(3), np.int64(1)]
    """
    refuse("iterate", space)


@iterate.register(Discrete)
def _iterate_discrete(space: Discrete, items: Any) -> NoReturn:
    raise SpaceTypeError(
        f"Unable to iterate over a `Discrete` space: {items} is a single value, not a batch"
    )


@iterate.register(Box | MultiBinary | MultiDiscrete)
def _iterate_array(space: _ArraySpace, items: Any) -> Iterator[Any]:
    try:
        return iter(items)
    except TypeError as problem:
        raise SpaceTypeError(
            f"Unable to iterate over {items!r}; expected a batch, an element of {space}"
        ) from problem


@iterate.register(Tuple)
def _iterate_tuple(space: Tuple, items: Any) -> Iterator[Any]:
    unknown = [type(part) for part in space.spaces if type(part) not in iterate.registry]
    if not unknown:
        return zip(*[iterate(part, items[i]) for i, part in enumerate(space.spaces)], strict=True)
    # A batch of n texts, graphs, … is a tuple of n of them.
    try:
        return iter(items)
    except Exception as problem:  # ``items`` may be of any class, whose __iter__ may raise anything
        raise CustomSpaceError(
            f"Could not iterate through a batch of {space}: `iterate` does not know {unknown}, and "
            f"the batch is not iterable itself ({problem}); register them with `iterate.register`"
        ) from problem


@iterate.register(Dict)
def _iterate_dict(space: Dict, items: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = [iterate(part, items[key]) for key, part in space.spaces.items()]
    for values in zip(*columns, strict=True):
        yield dict(zip(space.spaces, values, strict=True))


@singledispatch
def concatenate(space: Space[Any], items: Iterable[Any], out: Any) -> Any:
    """Combine single values to a batch.

    Args:
        space: The space of a single value.
        items: The values.
        out: The result of ``create_empty_array``, which is filled.

    Returns:
        The batch: ``out`` if that is an array, else a structure of its arrays; a plain tuple of the
        values for spaces whose values are not arrays.

    Raises:
        SpaceTypeError: ``space`` is not a space.

    Example:
        >>> space = Discrete(4)
        >>> concatenate(space, [3, 1], create_empty_array(space, 2))
        array([3, 1])
    """
    refuse("concatenate", space)


@concatenate.register(Box | MultiBinary | MultiDiscrete)
def _concatenate_arrays(
    space: _ArraySpace, items: Iterable[Any], out: NDArray[Any]
) -> NDArray[Any]:
    items = list(items)
    shape = space.shape
    if (
        len(shape) > 0
        and type(out) is np.ndarray
        and out.shape == (len(items), *shape)
        and out.flags.c_contiguous
        and all(type(item) is np.ndarray and item.shape == shape for item in items)
    ):
        if out.size > 0:
            # Joining along an existing axis avoids the view of each item that np.stack creates.
            np.concatenate(items, out=out.reshape(-1, *shape[1:]))
        return out
    return np.stack(items, axis=0, out=out)


@concatenate.register(Discrete)
def _concatenate_scalars(space: Discrete, items: Iterable[Any], out: Any) -> NDArray[Any]:
    values: Any = np.array(list(items))
    if type(out) is np.ndarray and out.shape == values.shape:
        np.copyto(out, values, casting="same_kind")
        return out
    return np.stack(values, axis=0, out=out)


@concatenate.register(Tuple)
def _concatenate_tuples(space: Tuple, items: Iterable[Any], out: Any) -> tuple[Any, ...]:
    items = list(items)
    return tuple(
        [
            concatenate(part, [item[i] for item in items], out[i])
            for i, part in enumerate(space.spaces)
        ]
    )


@concatenate.register(Dict)
def _concatenate_dicts(space: Dict, items: Iterable[Any], out: Any) -> dict[str, Any]:
    items = list(items)
    return {
        key: concatenate(part, [item[key] for item in items], out[key])
        for key, part in space.spaces.items()
    }


@concatenate.register(Space)
def _concatenate_any(space: Space[Any], items: Iterable[Any], out: Any) -> tuple[Any, ...]:
    return tuple(items)


@singledispatch
def create_empty_array(space: Space[Any], n: int = 1, fn: Callable[..., Any] = np.zeros) -> Any:
    """Allocate a batch of ``n`` values, to be filled by ``concatenate``.

    Args:
        space: The space of a single value.
        n: Size of the batch.
        fn: Function that allocates an array, called as ``fn(shape, dtype=dtype)``.

    Returns:
        A structure of arrays like the members of ``batch_space(space, n)``, though not always a
        member (zero may be out of bounds); ``None`` for custom spaces.

    Raises:
        SpaceTypeError: ``space`` is not a space.
    """
    refuse("create_empty_array", space)


@create_empty_array.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _empty_array(space: _ArraySpace, n: int = 1, fn: Callable[..., Any] = np.zeros) -> Any:
    return fn((n, *space.shape), dtype=space.dtype)


@create_empty_array.register(Tuple)
def _empty_tuple(space: Tuple, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[Any, ...]:
    return tuple(create_empty_array(part, n=n, fn=fn) for part in space.spaces)


@create_empty_array.register(Dict)
def _empty_dict(space: Dict, n: int = 1, fn: Callable[..., Any] = np.zeros) -> dict[str, Any]:
    return {key: create_empty_array(part, n=n, fn=fn) for key, part in space.spaces.items()}


@create_empty_array.register(Text)
def _empty_texts(space: Text, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return (space.characters[:1] * space.min_length,) * n


@create_empty_array.register(OneOf)
def _empty_choices(space: OneOf, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[Any, ...]:
    return ((),) * n


@create_empty_array.register(Space)
def _empty_custom(space: Space[Any], n: int = 1, fn: Callable[..., Any] = np.zeros) -> None:
    return None
