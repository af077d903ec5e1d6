"""What a benchmark asks of an agent.

Only ``act`` is needed. An agent may also have

* ``reset(seed, env)``, called before every episode with a seed of its own, and the environment;
* ``feedback(reward, terminated, truncated)``, called after every step, to learn from;
* ``cost``, the money spent up to now, or ``last_cost``, that of the last action.

A plain function from observation to action is an agent too.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Agent", "BatchAgent"]


@runtime_checkable
class Agent(Protocol):
    """Chooses one action at a time."""

    def act(self, observation: Any) -> Any:
        """Return an action of the environment's action space."""


@runtime_checkable
class BatchAgent(Protocol):
    """Chooses the actions of several environments at once.

    ``reset(seed, env)`` is called once, with the vector environment.
    """

    def act_batch(self, observations: Any) -> Any:
        """Return one action for each observation, in the vector environment's layout."""
