"""A batch of environments on a server."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ludus.core.batch_arguments import BatchedSpaces, seeds_per_env, split_reset_mask
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ClosedEnvironmentError, Error, Inadmissible
from ludus.serve.binary.frames import ANSWER_LIMITS, Op
from ludus.serve.binary.values import action_reader, observation_reader
from ludus.serve.client.env import Steps, checked_columns, checked_infos, count_of, parts_of
from ludus.serve.client.link import Link
from ludus.serve.client.opening import Remote, declared_by
from ludus.untrusted.validate.results import admitted_columns

__all__ = ["RemoteVectorEnv"]


class RemoteVectorEnv(VectorEnv[Any, Any, Any]):
    """A batch on a server; :func:`ludus.connect` makes it with ``num_envs``.

    It returns what ``ludus.make_vec`` returns for the same environments. Raises what
    :class:`~ludus.serve.client.env.RemoteEnv` does.
    """

    def __init__(self, link: Link, remote: Remote, num_envs: int) -> None:
        self._link, self._remote = link, remote
        self.num_envs = num_envs
        self._lead = (num_envs,)
        self._declare()

    def _declare(self) -> None:
        declared = declared_by(self._link, self._remote, self.num_envs)
        if declared.autoreset is None:
            self._link.connection.violate("a batch without an autoreset mode")
        spaces = BatchedSpaces.of(declared.observation_space, declared.action_space, self.num_envs)
        self.single_observation_space = spaces.single_observation
        self.observation_space = spaces.observation
        self.single_action_space = spaces.single_action
        self.action_space = spaces.action
        self.autoreset_mode = declared.autoreset
        self.metadata = {**declared.metadata, "autoreset_mode": declared.autoreset}
        self.render_mode = declared.render_mode
        self.spec = declared.spec
        self.remote_name = declared.name
        self._action = action_reader(declared.action_space)
        self._observation = observation_reader(declared.observation_space, ANSWER_LIMITS)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: An int gives environment ``i`` the seed ``seed + i``; a sequence, one each.
            options: Passed on, but for ``"reset_mask"``, a boolean array of the environments to
                reset; the others keep their observation.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            TypeError: A seed or mask of a wrong type.
            ValueError: Not one seed or mask entry per environment.
        """
        self._check_open()
        if seed is None or isinstance(seed, int):
            super().reset(seed=seed)
        split_reset_mask(options, self.num_envs)
        value = self._link.call(Op.RESET, _plain_seed(seed, self.num_envs), options)
        try:
            observations, infos = parts_of(value, 2)
            return (
                self._observation(observations, self._lead, "observations"),
                self._infos(infos, self.num_envs, None),
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance each environment by its action, or reset it, as the autoreset mode says.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            InvalidAction: Not one action of the action space per environment.
        """
        if self.closed:
            self._check_open()
        value = self._link.call(Op.STEP, self._action(actions, self._lead))
        try:
            observations, *columns, infos = parts_of(value, 5)
            rewards, terminated, truncated = checked_columns(columns, self._lead)
            finals = None
            if infos and self.autoreset_mode is AutoresetMode.SAME_STEP:
                finals = terminated | truncated
            return (
                self._observation(observations, self._lead, "observations"),
                rewards,
                terminated,
                truncated,
                self._infos(infos, self.num_envs, finals),
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def step_many(self, actions: Any) -> Steps:
        """Advance by several steps in one message.

        With autoreset disabled, a step after the end of an episode raises, as it does here, and
        the results of the steps before it are lost.

        Args:
            actions: Actions for all environments for each step along the first axis: an array of
                shape ``(steps, num_envs, ...)``; for a ``Dict`` or ``Tuple`` space a dict or tuple
                of such.

        Returns:
            Observations, rewards and flags of shape ``(steps, num_envs, ...)``, and a list of
            infos.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            InvalidAction: An action is not in the action space; no step was made.
            BadArguments: There are more steps than fit one message.
        """
        self._check_open()
        count = count_of(self.single_action_space, actions)
        lead = (count, self.num_envs)
        value = self._link.call(Op.STEPS, self._action(actions, lead), count)
        try:
            made, observations, *columns, infos = parts_of(value, 6)
            if made != count:
                raise Inadmissible(f"{made!r:.50} steps came for {count}.")
            rewards, terminated, truncated = checked_columns(columns, lead)
            same = self.autoreset_mode is AutoresetMode.SAME_STEP
            finals = terminated | truncated if same else [None] * count
            return Steps(
                self._observation(observations, lead, "observations"),
                rewards,
                terminated,
                truncated,
                [
                    self._infos(info, self.num_envs, over) if info else info
                    for info, over in zip(checked_infos(infos, count), finals, strict=True)
                ],
            )
        except Inadmissible as problem:
            self._link.connection.violate(str(problem))

    def _infos(self, told: Any, count: int, finals: Any) -> dict[str, Any]:
        if type(told) is not dict or not all(type(key) is str for key in told):
            raise Inadmissible("infos are no dict of texts.")
        if not told:
            return told
        return admitted_columns(told, count, self.single_observation_space, finals)

    def render(self) -> tuple[Any, ...] | None:
        """Return what each environment draws."""
        self._check_open()
        frames = self._link.call(Op.RENDER)
        if frames is not None and type(frames) is not tuple:
            self._link.connection.violate(f"frames are a tuple, got {type(frames).__name__}")
        return frames

    def get_state(self) -> State:
        """Return the state of all environments, which can be set here, or on the same elsewhere.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            StateError: It cannot be saved, or stays on the server.
        """
        self._check_open()
        state = self._link.call(Op.GET_STATE)
        if type(state) is not dict:
            self._link.connection.violate("a state is no dict")
        return dict(state)

    def set_state(self, state: State) -> None:
        """Continue from a state of :meth:`get_state`, here or of a local batch.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            StateError: It is not a state of these environments.
            CodecError: It is no plain data.
        """
        self._check_open()
        self._link.call(Op.SET_STATE, state)

    def call(self, name: str, *args: Any) -> Any:
        """Call a method, with plain data, that the server allows to call.

        Raises:
            BadArguments: It does not; the message says what it allows.
        """
        self._check_open()
        return self._link.call(Op.CALL, name, list(args))

    def get_attr(self, name: str) -> Any:
        """Return an attribute that the server allows to read.

        Raises:
            BadArguments: It does not; the message says what it allows.
        """
        self._check_open()
        return self._link.call(Op.GET_ATTR, name)

    def reconnect(self) -> None:
        """Connect anew and open the same batch; it begins without episodes.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            ServerLost: There is no server.
            ServerViolation: Its environments have other spaces than before.
        """
        self._check_open()
        spaces = self.single_observation_space, self.single_action_space
        self._link.reconnect()
        self._declare()
        if (self.single_observation_space, self.single_action_space) != spaces:
            self._link.connection.violate("the environments have other spaces than before")

    def close_extras(self, **kwargs: Any) -> None:
        """Let the server close the environments."""
        self._link.close()

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Call ludus.connect() once more."
            )

    def __reduce__(self) -> Any:
        raise Error("Environments on a server cannot be pickled or copied; connect once more.")


def _plain_seed(seed: Any, num_envs: int) -> int | list[int | None] | None:
    if seed is None:
        return None
    if isinstance(seed, int):
        return int(seed)
    seeds = seeds_per_env(seed, num_envs)
    return [None if one is None else operator.index(one) for one in seeds]
