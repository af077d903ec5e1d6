"""One environment that runs a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ludus.core.env import Env
from ludus.core.types import State as SavedState
from ludus.errors import InvalidAction, KernelError, ResetNeeded
from ludus.kernel.contract import Kernel
from ludus.kernel.program import program_drawing_from, program_for
from ludus.kernel.storage import Storage
from ludus.kernel.words_rng import generator_to_words, seed_to_words, words_to_generator
from ludus.spaces import Box, Discrete, Space, Tuple

__all__ = ["KernelEnv"]

_EVERY = np.ones(1, np.bool_)
_BUILT = frozenset(
    {"_storage", "_program", "_step_one", "_advance", "_read", "_write", "_before", "_after"}
)


class KernelEnv(Env[Any, Any]):
    """An environment whose dynamics are a :class:`Kernel`.

    Subclasses set :attr:`kernel` and build the params; rendering is theirs, from :attr:`state`.

    Args:
        params: The kernel's params.
        render_mode: How to render.
    """

    kernel: ClassVar[Kernel]
    state_fields = ()

    def __init__(self, params: Any, render_mode: str | None = None) -> None:
        self.params = params
        self.render_mode = render_mode
        self.observation_space, self.action_space = self.kernel.spaces(params)
        self._started = False
        self._seeded = False
        self._seed: int | None = None
        self._generator: np.random.Generator | None = None
        self.last_action: Any = None
        self._advance: Callable[[Any], Any]
        self._build()

    def _build(self) -> None:
        """Make what follows from kernel, params and spaces, and cannot be copied."""
        self._storage = Storage(
            self.kernel, self.params, self.observation_space, self.action_space, 1
        )
        self._program = program_for(self.kernel, self.observation_space, self.action_space)
        self._step_one: Any
        self._draws = self.kernel.transition_draws
        self._read = _reader(self.kernel, self.observation_space, self._storage.O)
        self._write = _action_reader(self.action_space)
        self._info_names = [(field.name, field.kind) for field in self.kernel.info_fields]
        self._tells = bool(self._info_names) or hasattr(self, "info_arrays")
        self._collect_arguments()

    def __getstate__(self) -> dict[str, Any]:
        # Rows are views of one another, and compiled functions belong to their process.
        kept = {name: value for name, value in self.__dict__.items() if name not in _BUILT}
        return {**kept, "_saved": self._storage.save()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        saved = kept.pop("_saved")
        self.__dict__.update(kept)
        generator = self._generator
        self._build()
        self._storage.load(saved)
        if generator is not None:
            self._set_generator(generator, self._seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw a first state; ``options`` go to :meth:`reset_params`."""
        storage = self._storage
        params = self.reset_params(options)
        if seed is not None or not (self._seeded or self._generator is not None):
            self._generator = None
            self._program = program_for(self.kernel, self.observation_space, self.action_space)
            self._seed = seed_to_words(seed, storage.U[:, 0])
            self._seeded = True
        if params is not self.params:
            storage.set_params(params)
        self._pull()
        storage.run_reset(self._program, _EVERY)
        self._push()
        if params is not self.params:
            storage.set_params(self.params)
        if params is not self.params or seed is not None or not self._started:
            self._collect_arguments()
        self._started = True
        self.last_action = None
        if self.render_mode == "human":
            self.render()
        return self._read(), self._infos()

    def reset_params(self, options: dict[str, Any] | None) -> Any:
        """Return the params for one reset; override to act on ``options``."""
        return self.params

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one action.

        Raises:
            InvalidAction: It is not in the action space.
            ResetNeeded: There was no reset yet.
        """
        if not self._started:
            raise ResetNeeded("Call reset before using step method.")
        result: tuple[Any, float, bool, bool, dict[str, Any]] = self._advance(action)
        self.last_action = action
        if result[2]:
            self._episode_ended()
        if self.render_mode == "human":
            self.render()
        return result

    def _episode_ended(self) -> None:
        """Take note of a step that terminated; for subclasses."""

    def _first_advance(self, action: Any) -> Any:
        """Step the long way, which tells what is wrong with a kernel; later on the short one."""
        result = self._long_advance(action)
        self._step_one = self._program.fast_step_one
        self._advance = self._short_advance() or self._long_advance
        return result

    def _long_advance(self, action: Any) -> Any:
        numbers = self._write(action)
        shared = self._generator is not None and self._draws
        if shared:
            self._pull()
        terminated = self._step_one(*self._before, *numbers, *self._after)
        if shared:
            self._push()
        storage = self._storage
        infos = self._infos() if self._tells else {}
        return self._read(), storage.packed.item(storage.reward_at), bool(terminated), False, infos

    def _short_advance(self) -> Callable[[Any], Any] | None:
        """Return the step of the common case in as few operations as Python can do it in."""
        space, storage = self.action_space, self._storage
        if not isinstance(space, Discrete) or self._tells or self._generator is not None:
            return None
        start, stop = int(space.start), int(space.start) + int(space.n)
        run, read, check = self._step_one, self._read, self._write
        packed, ints, rows, after = storage.packed, storage.ints, storage.O, self._after
        item, at, int64 = packed.item, storage.reward_at, np.int64

        def advance(action: Any) -> Any:
            kind = action.__class__
            if not ((kind is int or kind is int64) and start <= action < stop):
                check(action)
            terminated = run(packed, ints, rows, int(action), *after)
            return read(), item(at), bool(terminated), False, {}

        def advance_without_arrays(action: Any) -> Any:
            # Compiled code returns a bool; and passing no tuple on saves a tenth of the time.
            kind = action.__class__
            if not ((kind is int or kind is int64) and start <= action < stop):
                check(action)
            terminated = run(packed, ints, rows, int(action))
            return read(), item(at), terminated, False, {}

        return advance if after or not self._program.jit else advance_without_arrays

    def _collect_arguments(self) -> None:
        """Look up what a step needs, after anything of it may have changed."""
        storage = self._storage
        self._advance = self._first_advance
        self._step_one = self._program.step_one
        self._before = (storage.packed, storage.ints, storage.O)
        self._after = (*((storage.U,) if self._draws else ()), *storage.extra)

    def _infos(self) -> dict[str, Any]:
        storage = self._storage
        infos: dict[str, Any] = {}
        for k, (name, kind) in enumerate(self._info_names):
            value = storage.packed.item(storage.info_at + k)
            infos[name] = value if kind == "float" else int(value) if kind == "int" else bool(value)
        arrays = getattr(self, "info_arrays", None)
        if arrays is not None:
            infos.update(
                (name, column[0]) for name, column in arrays(self.params, storage.columns()).items()
            )
        return infos

    @property
    def state(self) -> Any:
        """The kernel's state, ``None`` before the first reset; assign to change it."""
        return self._storage.state_at(0) if self._started else None

    @state.setter
    def state(self, value: Any) -> None:
        self._started = value is not None
        if value is not None:
            self._storage.set_state_at(0, value)

    @classmethod
    def vector(cls, num_envs: int = 1, **kwargs: Any) -> Any:
        """Build many environments that are stepped together, in compiled code.

        Args:
            num_envs: How many.
            **kwargs: The constructor's arguments, and those of
                :class:`~ludus.kernel.KernelVectorEnv`.
        """
        from ludus.kernel.vector_env import VECTOR_ARGUMENTS, KernelVectorEnv

        own = {name: kwargs.pop(name) for name in VECTOR_ARGUMENTS if name in kwargs}
        return KernelVectorEnv(cls(**kwargs), num_envs, **own)

    # --- the random generator -----------------------------------------------------------------

    @property
    def np_random(self) -> np.random.Generator:
        """The generator; what it draws and what the kernel draws is one stream."""
        if self._generator is None:
            if not self._seeded:
                self._seed = seed_to_words(None, self._storage.U[:, 0])
                self._seeded = True
            self._generator = words_to_generator(self._storage.U[:, 0])
            self._collect_arguments()
        return self._generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._set_generator(value, -1)

    @property
    def np_random_seed(self) -> int:
        """The generator's seed; -1 if the generator was assigned from outside."""
        if self._seed is None:
            self._seed = seed_to_words(None, self._storage.U[:, 0])
            self._seeded = True
        return self._seed

    @property
    def _np_random(self) -> np.random.Generator | None:
        return self.np_random if self._seeded or self._generator is not None else None

    @_np_random.setter
    def _np_random(self, value: np.random.Generator | None) -> None:
        self._set_generator(value, self._seed)

    @property
    def _np_random_seed(self) -> int | None:
        return self._seed

    @_np_random_seed.setter
    def _np_random_seed(self, value: int | None) -> None:
        self._seed = value

    def _set_generator(self, value: np.random.Generator | None, seed: int | None) -> None:
        self._generator, self._seed = value, seed
        self._seeded = False
        if value is None:
            self._collect_arguments()
            return
        if type(value.bit_generator) is np.random.PCG64:
            self._program = program_for(self.kernel, self.observation_space, self.action_space)
            self._pull()
            self._seeded = True
        else:
            # Compiled code knows PCG64 only; any other stream is drawn from in plain Python.
            self._program = program_drawing_from(
                self.kernel, self.observation_space, self.action_space, value
            )
        self._collect_arguments()

    def _pull(self) -> None:
        generator = self._generator
        if generator is not None and type(generator.bit_generator) is np.random.PCG64:
            generator_to_words(generator, self._storage.U[:, 0])

    def _push(self) -> None:
        generator = self._generator
        if generator is not None and type(generator.bit_generator) is np.random.PCG64:
            moved = words_to_generator(self._storage.U[:, 0])
            generator.bit_generator.state = moved.bit_generator.state  # type: ignore[assignment]

    # --- state --------------------------------------------------------------------------------

    def _save_state(self) -> SavedState:
        return {"started": self._started, "storage": self._storage.save()}

    def _load_state(self, fields: SavedState) -> None:
        self._started = bool(fields["started"])
        self._storage.load(fields["storage"])


def _reader(kernel: Kernel, space: Space[Any], rows: Any) -> Callable[[], Any]:
    """Return a function that reads the observation in the form the space gives it."""
    if kernel.writes_observation:
        return rows[0].copy  # type: ignore[no-any-return]
    if isinstance(space, Discrete):
        cell = rows.reshape(-1)
        return lambda: cell.item(0)
    if isinstance(space, Tuple):
        return lambda: _split(space, rows[:, 0])
    column = rows[:, 0]
    return column.copy  # type: ignore[no-any-return]


def _split(space: Tuple, numbers: Any) -> tuple[Any, ...]:
    parts: list[Any] = []
    at = 0
    for part in space.spaces:
        if isinstance(part, Discrete):
            parts.append(int(numbers[at]))
            at += 1
        else:
            size = int(np.prod(part.shape or (1,)))
            parts.append(numbers[at : at + size].astype(part.dtype).reshape(part.shape or ()))
            at += size
    return tuple(parts)


def _action_reader(space: Space[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that turns an action into the numbers the driver takes."""
    if isinstance(space, Discrete):
        start, stop = int(space.start), int(space.start) + int(space.n)

        def read_discrete(action: Any) -> tuple[int]:
            kind = action.__class__
            if (kind is int or kind is np.int64) and start <= action < stop:
                return (int(action),)
            if not space.contains(action):
                raise InvalidAction(
                    f"{action!r} ({type(action)}) invalid: expected an integer from {start} to "
                    f"{stop - 1}."
                )
            return (int(action),)

        return read_discrete
    if isinstance(space, Box):
        size = space.shape[0]

        def read_box(action: Any) -> tuple[float, ...]:
            try:
                numbers = tuple(map(float, action))
            except TypeError as problem:
                raise InvalidAction(
                    f"{action!r} ({type(action)}) invalid: expected {size} numbers, {space}."
                ) from problem
            if len(numbers) != size:
                raise InvalidAction(f"{action!r} invalid: expected {size} numbers, {space}.")
            return numbers

        return read_box
    if isinstance(space, Tuple):

        def read_tuple(action: Any) -> tuple[int, ...]:
            if not space.contains(tuple(action) if isinstance(action, list) else action):
                raise InvalidAction(
                    f"{action!r} ({type(action)}) invalid: expected one of {space}."
                )
            return tuple(map(int, action))

        return read_tuple

    def read_array(action: Any) -> tuple[int, ...]:
        if not space.contains(action):
            raise InvalidAction(f"{action!r} ({type(action)}) invalid: expected one of {space}.")
        return tuple(map(int, action))

    if space.shape is None:
        raise KernelError(f"Actions of {space} are not supported by kernels.")
    return read_array
