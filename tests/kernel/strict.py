"""Playing a kernel in plain Python over arrays and tables that refuse negative indices."""

from __future__ import annotations

from types import FunctionType

import numpy as np

from ludus.spaces import Discrete


def check_index(key, lengths):
    for index, length in zip(key if isinstance(key, tuple) else (key,), lengths, strict=False):
        if not 0 <= index < length:
            raise IndexError(f"{key} is not an index for {tuple(lengths)}.")


class StrictArray(np.ndarray):
    """An array without negative indices."""

    def __getitem__(self, key):
        check_index(key, self.shape)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        check_index(key, self.shape)
        super().__setitem__(key, value)


class StrictTuple(tuple):
    """A tuple without negative indices."""

    __slots__ = ()

    def __getitem__(self, key):
        check_index(key, (len(self),))
        return super().__getitem__(key)


def strict(values):
    """Return params or a state over arrays of its own without negative indices."""
    return type(values)(
        *(x.copy().view(StrictArray) if isinstance(x, np.ndarray) else x for x in values)
    )


def modules_of(functions):
    """Return the namespaces of functions and of all that they call by name."""
    found, open_ones = {}, [function for function in functions if function is not None]
    while open_ones:
        function = open_ones.pop()
        names = found.setdefault(id(function.__globals__), (function.__globals__, set()))[1]
        for name in set(function.__code__.co_names) - names:
            names.add(name)
            called = function.__globals__.get(name)
            if isinstance(called, FunctionType):
                open_ones.append(called)
    return found.values()


class Game:
    """A kernel's functions, called over strict arrays."""

    def __init__(self, env):
        self.env, self.kernel = env, env.kernel
        self.params = strict(env.params)
        self.rng = np.random.default_rng(1)
        space = env.observation_space
        if self.kernel.writes_observation:
            self.out = np.zeros(space.shape, space.dtype).view(StrictArray)

    def action(self):
        space = self.env.action_space
        sampled = space.sample()
        if isinstance(space, Discrete):
            return int(sampled)
        numbers = tuple(int(number) for number in sampled)
        return numbers if len(numbers) > 1 else numbers[0]

    def show(self, state):
        if self.kernel.writes_observation:
            self.kernel.observation(self.params, state, self.out)
        else:
            self.kernel.observation(self.params, state)
        self.kernel.terminal(self.params, state)

    def check_play(self, state, steps):
        """Play on without a reset, whether the episode ends or not."""
        state = strict(state)
        self.show(state)
        for step in range(steps):
            action = self.action()
            before, state = state, self.kernel.transition(self.params, state, action, self.rng)
            self.kernel.reward(self.params, before, action, state)
            assert self.kernel.valid(self.params, state)
            if step < 10 or step % 10 == 0:  # showing everything takes longer than playing
                self.show(state)

    def check_begin(self, state):
        """Start the next episode."""
        state = strict(state)
        given = (state, self.rng) if self.kernel.keeps_state else (self.rng,)
        state = self.kernel.initial(self.params, *given)
        assert self.kernel.valid(self.params, state)
        self.show(state)
