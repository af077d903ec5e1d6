"""One environment that runs a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ludus.core.types import State as SavedState
from ludus.errors import ResetNeeded
from ludus.kernel.contract import Kernel
from ludus.kernel.generator import generator_to_words, seed_to_words, words_to_generator
from ludus.kernel.program import Program, StepShape, compiled_program_for, program_drawing_from
from ludus.kernel.space_values import action_reader, observation_reader, observation_source
from ludus.kernel.storage import Storage
from ludus.kernel.tiers import Tier
from ludus.kernel.watched_env import WatchedEnv
from ludus.spaces import Discrete

if TYPE_CHECKING:
    from ludus.kernel.vector_env import KernelVectorEnv

__all__ = ["KernelEnv", "StepResult"]

StepResult = tuple[Any, float, bool, bool, dict[str, Any]]

_EVERY = np.ones(1, np.bool_)
_BUILT = {"_advance", "_program", "_read", "_seen", "_storage", "_table", "_tier", "_write"}
_BUILT |= {"_every", "_info_arrays", "_observed", "_told", "_unwatched"}
_CONVERT: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "bool": bool}


class KernelEnv(WatchedEnv):
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
        self._build()

    @property
    def params(self) -> Any:
        """The kernel's params; assign to change the dynamics from the next step on."""
        return self._params

    @params.setter
    def params(self, value: Any) -> None:
        self._params = value
        if "_storage" in vars(self):
            self._storage.set_params(value)
            self._collect_arguments()

    def _build(self) -> None:
        """Make what follows from kernel, params and spaces, and cannot be copied."""
        self._storage = Storage(
            self.kernel, self.params, self.observation_space, self.action_space, 1
        )
        self._seen = observation_source(
            self.kernel, self.observation_space, self._storage.observations
        )
        self._tier = Tier(self._storage, ("reset", "step_one"), shape=self._step_shape())
        self._use(self._tier.program)
        self._draws = self.kernel.transition_draws
        self._read = observation_reader(*self._seen)
        self._write = action_reader(self.action_space)
        self._told = [
            (field.name, row.item, _CONVERT[field.kind])
            for field, row in zip(self.kernel.info_fields, self._storage.infos, strict=False)
        ]
        self._info_arrays = getattr(self, "info_arrays", None)
        self._observed = self._storage.observations[0]
        self._tells = bool(self._told) or self._info_arrays is not None

    def __getstate__(self) -> dict[str, Any]:
        # Rows are views of one another, and compiled functions belong to their process.
        kept = {name: value for name, value in self.__dict__.items() if name not in _BUILT}
        return {**kept, "_saved": self._storage.save()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        saved = kept.pop("_saved")
        self.__dict__.update(kept)
        generator = self._generator
        self._build()
        self._storage.load(saved, [self._started], draws=self._draws_from_words())
        if generator is not None:
            self._set_generator(generator, self._seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw a first state; ``options`` go to :meth:`reset_params`."""
        storage = self._storage
        params, own = self.reset_params(options), self._params
        if seed is not None or not (self._seeded or self._generator is not None):
            if self._generator is not None:
                self._generator = None
                self._use(self._tier.program)
            self._seed = seed_to_words(seed, storage.rng_words[0])
            self._seeded = True
        if params is not own:
            storage.set_params(params)
        if self._holding:
            self._forget_edits()
        self._pull()
        self._program.function("reset", gil=True)(self._table, self._every)
        self._push()
        if params is not own:
            storage.set_params(own)
            self._collect_arguments()
        self._started = True
        self.last_action = None
        if self.render_mode == "human":
            self.render()
        return self._read(), self._infos()

    def reset_params(self, options: dict[str, Any] | None) -> Any:
        """Return the params for one reset; override to act on ``options``."""
        return self._params

    def step(self, action: Any) -> StepResult:
        """Advance by one action.

        Raises:
            InvalidAction: It is not in the action space.
            ResetNeeded: There was no reset yet.
        """
        result: StepResult = self._advance(action)
        self.last_action = action
        if result[2]:
            result = self._at_end(result)
        # Most have none, and to ask for that is quicker than to compare.
        if self.render_mode is not None and self.render_mode == "human":
            self.render()
        return result

    def _at_end(self, result: StepResult) -> StepResult:
        """Return what a step that terminated returns; for subclasses."""
        return result

    def _first_advance(self, action: Any) -> Any:
        """Compile the step, if that was not done before, then make it."""
        if not self._started:
            raise ResetNeeded("Call reset before using step method.")
        run = self._program.function("step_one", gil=True)
        tiers = self._may_change()
        step = self._any_advance(self._tier.timed(run) if tiers else run)
        if self._generator is not None and self._draws:
            step = self._shared_advance(step)
        elif self._program.has_builtins:
            step = self._native_advance(step)
        self._advance = self._plain_advance(step) if tiers else step
        return self._advance(action)

    _advance: Callable[[Any], Any] = _first_advance  # type: ignore[assignment]

    def _may_change(self) -> bool:
        """Tell whether another program may take over."""
        return self._program is self._tier.program and not self._tier.is_final

    def _plain_advance(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step in plain Python, which gives way to compiled code."""
        better = self._tier.better

        def advance(action: Any) -> Any:
            program = better()
            if program is None:
                return step(action)
            self._use(program)
            return self._first_advance(action)

        return advance

    def compile(self) -> None:
        """Wait until steps run in compiled code, unless the user wants plain Python.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        if self._may_change():
            self._use(self._tier.wait())
        self._program.function("step_one", gil=True)

    def _native_advance(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step in native code, which leaves odd actions to the one in Python."""
        shape = self._step_shape()
        if shape is None:
            return step
        how, source = self._seen
        owner = (
            self._table,
            self._storage.rewards.ctypes.data,
            source.ctypes.data if how == "int" else source,
            self._infos if self._tells else None,
            step,
        )
        return compiled_program_for(self._storage).whole_step(shape, owner)

    def _step_shape(self) -> StepShape | None:
        """Return what a step in native code must know, ``None`` if there can be none."""
        space, bounds = self.action_space, None
        if isinstance(space, Discrete):
            bounds = (int(space.start), int(space.start) + int(space.n))
        elif self._storage.action_kinds[0] != "float":
            return None
        how, source = self._seen
        return bounds, (how, source.nbytes if how == "copy" else 0), self._pays_ints()

    def _pays_ints(self) -> bool:
        """Tell whether rewards are whole numbers, returned as ints; for subclasses."""
        return False

    def _any_advance(self, run: Callable[..., int]) -> Callable[[Any], Any]:
        table, read, numbers = self._table, self._read, self._write
        cell = self._storage.rewards.item
        reward = (lambda: int(cell())) if self._pays_ints() else cell
        infos, tells = self._infos, self._tells

        def advance(action: Any) -> Any:
            terminated = run(table, *numbers(action)) == 1
            return read(), reward(), terminated, False, infos() if tells else {}

        return advance

    def _shared_advance(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step that draws from a generator which others draw from as well."""

        def advance(action: Any) -> Any:
            self._pull()
            try:
                return step(action)
            finally:
                self._push()

        return advance

    def _lend(self, started: bool, seed: int | None) -> None:
        """Stand in for an environment of a batch, whose numbers are in the storage now."""
        self._forget_edits()
        self._generator, self._started, self._seeded = None, started, seed is not None
        self._seed = seed
        self._use(self._tier.program)

    def _give_back(self) -> tuple[bool, int | None]:
        """Have the storage hold all; return whether there was a reset, and the seed."""
        self._take_edits()
        self._pull()
        return self._started, self._seed

    def _use(self, program: Program) -> None:
        self._program = program
        self._collect_arguments()

    def _collect_arguments(self) -> None:
        """Look up what a step needs, after anything of it may have changed."""
        self._table = self._program.table(self._storage)
        self._every = self._program.address(_EVERY)
        # The class's own: an environment that held its method would wait for the garbage collector.
        vars(self).pop("_advance", None)
        if self._is_watched():
            self._watch()

    def _infos(self) -> dict[str, Any]:
        infos = {name: convert(item()) for name, item, convert in self._told}
        if self._info_arrays is not None:
            for name, column in self._info_arrays(self.params, self._observed).items():
                infos[name] = column[0]
        return infos

    @property
    def state(self) -> Any:
        """The kernel's state, ``None`` before the first reset; assign to change it."""
        return self._storage.state_at(0) if self._started else None

    @state.setter
    def state(self, value: Any) -> None:
        if value is not None:
            self._storage.set_state_at(0, value)
        self._started = value is not None
        self._collect_arguments()

    @classmethod
    def vector(cls, num_envs: int = 1, *, compile: str | None = None, **kwargs: Any) -> Any:
        """Build many environments that are stepped together, in compiled code.

        Args:
            num_envs: How many.
            compile: When to compile, as for :class:`~ludus.kernel.KernelVectorEnv`.
            **kwargs: The constructor's arguments, and the others of
                :class:`~ludus.kernel.KernelVectorEnv`.
        """
        from ludus.kernel.vector_env import VECTOR_ARGUMENTS

        own = {name: kwargs.pop(name) for name in VECTOR_ARGUMENTS if name in kwargs}
        if compile is not None:
            own["compile"] = compile
        return cls.vector_class()(cls(**kwargs), num_envs, **own)

    @classmethod
    def vector_class(cls) -> type[KernelVectorEnv]:
        """Return the class of what :meth:`vector` builds; override to build another."""
        from ludus.kernel.vector_env import KernelVectorEnv

        return KernelVectorEnv

    # --- the random generator -----------------------------------------------------------------

    @property
    def np_random(self) -> np.random.Generator:
        """The generator; what it draws and what the kernel draws is one stream."""
        if self._generator is None:
            if not self._seeded:
                self._seed = seed_to_words(None, self._storage.rng_words[0])
                self._seeded = True
            self._generator = words_to_generator(self._storage.rng_words[0])
            self._collect_arguments()
        return self._generator

    @np_random.setter
    def np_random(self, value: np.random.Generator) -> None:
        self._set_generator(value, -1)

    @property
    def np_random_seed(self) -> int:
        """The generator's seed; -1 if the generator was assigned from outside."""
        if self._seed is None:
            self._seed = seed_to_words(None, self._storage.rng_words[0])
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
        if value is not None and not self._draws_from_words():
            # Compiled code knows PCG64 only; any other stream is drawn from in plain Python.
            self._use(program_drawing_from(self._storage, value))
            return
        self._use(self._tier.program)
        self._pull()
        self._seeded = value is not None

    def _draws_from_words(self) -> bool:
        """Tell whether the stream is a PCG64, which compiled code can draw from."""
        generator = self._generator
        return generator is None or type(generator.bit_generator) is np.random.PCG64

    def _pull(self) -> None:
        generator = self._generator
        if generator is not None and self._draws_from_words():
            generator_to_words(generator, self._storage.rng_words[0])

    def _push(self) -> None:
        generator = self._generator
        if generator is not None and self._draws_from_words():
            moved = words_to_generator(self._storage.rng_words[0])
            generator.bit_generator.state = moved.bit_generator.state

    # --- state --------------------------------------------------------------------------------

    def _save_state(self) -> SavedState:
        return {"started": self._started, "storage": self._storage.save()}

    def _load_state(self, fields: SavedState) -> None:
        started = bool(fields["started"])
        self._storage.load(fields["storage"], [started], draws=self._draws_from_words())
        self._started = started
        self._collect_arguments()
