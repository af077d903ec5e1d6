"""A player that reads the target."""

from __future__ import annotations


def data(env):
    """Return the input, a list per column."""
    return env.unwrapped.state.data[: env.unwrapped.state.width].tolist()


def target(env):
    return env.unwrapped.state.target[: env.unwrapped.state.target_length].tolist()


def wrong(env):
    """Return a symbol that does not come next."""
    state = env.unwrapped.state
    return (int(state.target[state.written]) + 1) % env.unwrapped.params.base


def solve(env):
    """Write the whole target; return the rewards and whether the episode ended."""
    rewards, terminated = [], False
    for symbol in target(env):
        _, reward, terminated, _, _ = env.step((1, 1, symbol))
        rewards.append(reward)
    return rewards, terminated
