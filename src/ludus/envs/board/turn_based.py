"""Both sides of a board game, in turns, with the interface of PettingZoo's AEC environments."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ludus.core.state import copy_plain, rng_from_plain, rng_to_plain
from ludus.core.types import State
from ludus.envs.board.drawing import picture_of
from ludus.envs.board.env import ILLEGAL_MOVE_MODES
from ludus.envs.board.rules import Position, as_move, illegal, is_legal, rules_of
from ludus.errors import Error, InvalidAction, ResetNeeded, StateError, UnsupportedMode
from ludus.seeding import np_random as make_np_random
from ludus.spaces import Box, Dict, Discrete

__all__ = ["TurnBasedEnv"]

_TABLES = ("rewards", "_cumulative_rewards", "terminations", "truncations")


class TurnBasedEnv:
    """Two agents, named by their colours as in ``black_0``, who move in turn.

    An observation is a dict of ``observation`` and ``action_mask``. Ended agents step with ``None``
    until none is left, as PettingZoo's loop does.

    Args:
        game: Name of the game, one of :data:`ludus.envs.board.rules.GAMES`.
        board_size: Points per side, for games whose boards differ.
        illegal_move_mode: ``"lose"`` the game by an illegal move, or ``"raise"``.
        resign: Offer one more action, the last one, that gives the game up.
        render_mode: ``"ansi"`` returns the board as text, ``"rgb_array"`` as a picture;
            ``"human"`` prints it after every reset and step.

    Raises:
        Error: An option has no such value, or there is no such game.
        DependencyNotInstalled: open_spiel is not installed.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "ludus_board",
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 1,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        game: str,
        *,
        board_size: int | None = None,
        illegal_move_mode: str = "lose",
        resign: bool = False,
        render_mode: str | None = None,
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UnsupportedMode(f"render_mode={render_mode!r}; expected None or one of {modes}.")
        if illegal_move_mode not in ILLEGAL_MOVE_MODES:
            raise Error(
                f"illegal_move_mode={illegal_move_mode!r}; expected one of {ILLEGAL_MOVE_MODES}."
            )
        self.rules = rules_of(game, board_size)
        self.illegal_move_mode = illegal_move_mode
        self.render_mode = render_mode
        self.resign_action = self.rules.moves if resign else None
        self.possible_agents = [f"{color}_0" for color in self.rules.colors]
        self.agents: list[str] = []
        self._actions = self.rules.moves + bool(resign)
        mask = Box(0, 1, (self._actions,), np.int8)
        seen = self.rules.observation_space
        self.observation_spaces: dict[str, Any] = {
            agent: Dict({"observation": seen, "action_mask": mask})
            for agent in self.possible_agents
        }
        self.action_spaces: dict[str, Any] = {
            agent: Discrete(self._actions) for agent in self.possible_agents
        }
        self._position: Position | None = None
        self._rng: np.random.Generator | None = None

    @property
    def unwrapped(self) -> TurnBasedEnv:
        """The environment itself."""
        return self

    @property
    def num_agents(self) -> int:
        """How many agents are left."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """How many agents there can be."""
        return len(self.possible_agents)

    def observation_space(self, agent: str) -> Any:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game."""
        if seed is not None or self._rng is None:
            self._rng, _ = make_np_random(seed)
        self._position = self.rules.start(self._rng)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._position.to_move]
        if self.render_mode == "human":
            self.render()

    def _begun(self) -> tuple[Position, np.random.Generator]:
        if self._position is None or self._rng is None:
            raise ResetNeeded("No game has begun; call reset() first.")
        return self._position, self._rng

    def observe(self, agent: str) -> dict[str, Any]:
        """Return an agent's observation; only the one whose turn it is has legal moves."""
        position, _ = self._begun()
        player = self.possible_agents.index(agent)
        mask = np.zeros(self._actions, dtype=np.int8)
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            mask[: self.rules.moves] = position.mask()
        return {"observation": position.observation(player), "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return the selected agent's observation, and its rewards since its last move."""
        self._begun()
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def step(self, action: Any) -> None:
        """Make the selected agent's move; ``None`` for one whose game has ended.

        Raises:
            InvalidAction: A move was given after the end, or none during the game; it is not an
                integer; or it is illegal and ``illegal_move_mode`` is ``"raise"``.
        """
        position, rng = self._begun()
        agent = self.agent_selection
        if self.terminations[agent]:
            self._leave(agent, action)
            return
        if action is None:
            raise InvalidAction(f"It is {agent}'s turn; None is for agents whose game has ended.")
        move = as_move(action)
        player = self.possible_agents.index(agent)
        results = (0.0, 0.0)
        over = move == self.resign_action or not is_legal(position, move)
        if over:
            if move != self.resign_action and self.illegal_move_mode == "raise":
                raise illegal(position, move)
            results = (-1.0, 1.0) if player == 0 else (1.0, -1.0)
        else:
            position.play(move, rng)
            over = position.over
            results = position.results() if over else results
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.possible_agents, results, strict=True))
        for each, reward in self.rewards.items():
            self._cumulative_rewards[each] += reward
        self.terminations = dict.fromkeys(self.agents, over)
        self.agent_selection = self.possible_agents[1 - player if over else position.to_move]
        if self.render_mode == "human":
            self.render()

    def _leave(self, agent: str, action: Any) -> None:
        if action is not None:
            raise InvalidAction(f"The game of {agent} has ended; step(None), got {action!r}.")
        self.agents.remove(agent)
        for table in (*_TABLES, "infos"):
            getattr(self, table).pop(agent)
        if self.agents:
            self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the agent to step next, until none is left."""
        while self.agents and max_iter > 0:
            max_iter -= 1
            yield self.agent_selection

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the board as text or as a picture, or print it, as the mode says."""
        position, _ = self._begun()
        if self.render_mode == "rgb_array":
            return picture_of(position)
        if self.render_mode == "human":
            sys.stdout.write(position.text())
        return position.text() if self.render_mode == "ansi" else None

    def state(self) -> Any:
        """Return the board as the first player sees it."""
        return self._begun()[0].observation(0)

    def get_state(self) -> State:
        """Return the game, the random generator included, as plain data."""
        position, rng = self._begun()
        return {
            "game": [self.rules.name, self.rules.moves],
            "history": list(position.history),
            "rng": rng_to_plain(rng, None),
            "agents": list(self.agents),
            "agent_selection": self.agent_selection,
            "tables": {name: dict(getattr(self, name)) for name in _TABLES},
        }

    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned.

        Raises:
            StateError: It is not a state of this game.
        """
        game = [self.rules.name, self.rules.moves]
        if list(state.get("game", ())) != game:
            raise StateError(f"The state is one of {state.get('game')}, this is {game}.")
        try:
            position = self.rules.resume(list(state["history"]))
            rng, _ = rng_from_plain(state["rng"])
            tables = {name: dict(copy_plain(state["tables"][name])) for name in _TABLES}
            agents, selected = list(state["agents"]), str(state["agent_selection"])
        except (KeyError, TypeError, ValueError) as problem:
            raise StateError(f"This is no state of {self.rules.name}: {problem}") from problem
        self._position, self._rng = position, rng
        self.agents, self.agent_selection = agents, selected
        self.infos = {agent: {} for agent in agents}
        for name, table in tables.items():
            setattr(self, name, table)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def __str__(self) -> str:
        return f"TurnBasedEnv({self.rules.name})"
