"""Attribute access and method calls on the environments of a compiled batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.core.batch import BatchEnv
from ludus.core.batch_arguments import one_per_env

if TYPE_CHECKING:
    from ludus.kernel.env import KernelEnv
    from ludus.kernel.storage import Storage

__all__ = ["BatchAttributes"]


class BatchAttributes(BatchEnv[Any, Any]):
    """A batch with one environment object that takes the state of each environment in turn.

    States and random generators differ between environments; params and other attributes are the
    same for the whole batch.
    """

    env: KernelEnv
    _storage: Storage
    _started: np.ndarray[Any, Any]
    _seeds: Sequence[int | None]

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call the method of each environment; an attribute that is not callable is returned.

        Returned dicts and lists are copies.
        """

        def work(env: KernelEnv, _index: int) -> Any:
            found = env.get_wrapper_attr(name)
            value = found(*args, **kwargs) if callable(found) else found
            return copy.deepcopy(value) if isinstance(value, dict | list) else value

        return tuple(self.visit(work))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the attribute of each environment; a method is called without arguments."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set the attribute in each environment; a list or tuple has one value for each.

        Raises:
            ValueError: A list or tuple with another length than ``num_envs``, or values that
                differ, for an attribute that the whole batch shares.
        """
        given = one_per_env(values, self.num_envs)
        differ = any(not _same(value, given[0]) for value in given[1:])
        if differ and not isinstance(getattr(type(self.env), name, None), property):
            raise _one_for_all(name)
        self.visit(lambda env, index: env.set_wrapper_attr(name, given[index]))

    def visit(
        self, work: Callable[[KernelEnv, int], Any], indices: Iterable[int] | None = None
    ) -> list[Any]:
        """Call a function with an environment object in the state of each environment in turn.

        Args:
            work: Called with the environment and its index; its changes apply to the batch.
            indices: Which environments; by default all.

        Returns:
            The results of ``work``, in order.

        Raises:
            ValueError: The params, or the kernel, would differ between environments.
        """
        chosen = range(self.num_envs) if indices is None else list(indices)
        before, kernel = self.env.params, self.env.kernel
        found: list[Any] = []
        params = [before] if set(chosen) != set(range(self.num_envs)) else []
        try:
            for index in chosen:
                if self.env.params is not before:
                    self.env.params = before
                with self._visited(index) as env:
                    found.append(work(env, index))
                    params.append(env.params)
                    if env.kernel is not kernel:
                        raise _one_for_all("what decides which code runs")
            if any(not all(map(_same, other, params[0])) for other in params[1:]):
                raise _one_for_all("the params")
        except BaseException:
            self.env.params = before
            raise
        if params[0] is not before:
            self._storage.set_params(params[0])
        return found

    @contextmanager
    def _visited(self, index: int) -> Iterator[KernelEnv]:
        """Load the state of one environment into the object, and store it again afterwards."""
        env = self.env
        if env.spec is None:
            env.spec = self.spec
        started, seed = bool(self._started[index]), self._seeds[index]
        env._storage.copy_column(0, self._storage, index)
        env._lend(started, seed)
        yield env
        self._started[index], seed_after = env._give_back()
        if seed_after != seed:
            self._seeds = [*self._seeds[:index], seed_after, *self._seeds[index + 1 :]]
        self._storage.copy_column(index, env._storage, 0)


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(one, other))


def _one_for_all(name: str) -> ValueError:
    return ValueError(
        f"The environments of a compiled batch share {name}, so it cannot differ between them, nor "
        "can a setting that needs other code. Build the batch with vectorization_mode='sync' to "
        "set it for each environment."
    )
