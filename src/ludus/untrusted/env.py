"""One environment in a sandbox, as the host sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ludus.codec import DecodeLimits, admit, encode
from ludus.core.env import Env
from ludus.core.types import State
from ludus.errors import Inadmissible, RemoteEnvError, SandboxError, StateError
from ludus.untrusted.channel.channel import Channel
from ludus.untrusted.channel.protocol import ANSWER, Kind, Op, plain_answers
from ludus.untrusted.opening import Opened
from ludus.untrusted.options import SandboxOptions
from ludus.untrusted.validate.actions import action_writer
from ludus.untrusted.validate.observations import row_reader
from ludus.untrusted.validate.results import admitted_flag, admitted_info, admitted_reward

__all__ = ["SandboxedEnv"]

_Step = Callable[[Any], tuple[Any, float, bool, bool, dict[str, Any]]]
_FRAME_ITEMS = 10_000
_CLOSE_TIMEOUT = 2.0


class SandboxedEnv(Env[Any, Any]):
    """An environment whose code runs in a sandbox.

    It is made by ``ludus.make(..., sandbox=...)`` and ``ludus.sandbox.load``. Everything that
    comes back has been checked against the declared spaces; attributes of the environment itself
    cannot be reached. ``np_random`` is a generator of the host's, seeded by ``reset(seed=...)``.

    Raises (every call):
        SandboxViolation: something came back that is not what was declared; the sandbox is closed.
        SandboxTimeout, SandboxCrashed: nothing came back; the sandbox is closed.
        SandboxClosed: the sandbox was closed by an earlier call.
        RemoteEnvError: the environment raised; the sandbox goes on.
    """

    state_fields: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, opened: Opened, options: SandboxOptions) -> None:
        declared, plan = opened.declared, opened.plan
        self.observation_space = declared.observation_space
        self.action_space = declared.action_space
        self.metadata = declared.metadata
        self.render_mode = declared.render_mode
        self.remote_name = declared.name
        self._options = options
        self._channel: Channel = opened.channel
        self._landing = opened.channel.landing
        self._read: Callable[[], Any] | None = None
        self._put: Callable[[Any], None] | None = None
        if plan.observation is not None:
            self._read = row_reader(
                declared.observation_space,
                plan.observations(self._landing),
                rounding_steps=options.rounding_steps,
            )
        if plan.action is not None:
            views = plan.actions(opened.channel.request)
            self._put = action_writer(declared.action_space, views, None)
        self._step: _Step = self._slow_step
        if self._read is not None and self._put is not None:
            self._step = self._quick_step(self._put, self._read)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one action.

        Raises:
            InvalidAction: it is not in the action space.
        """
        return self._step(action)

    def _quick_step(self, put: Callable[[Any], None], read: Callable[[], Any]) -> _Step:
        """Return the step of the common case in as few operations as Python can do it in."""
        channel, tokens, landing = self._channel, self._channel.tokens, self._landing
        low, high = self._options.reward_range
        words = memoryview(landing)[: ANSWER.size].cast("Q")
        rewards = memoryview(landing)[: ANSWER.size].cast("d")
        flags_of = {word: flags for flags, word in plain_answers().items()}.get

        def step(action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            put(action)
            token = next(tokens)
            alone = channel.exchange(token)
            # A word is no plain answer unless its kind, both flags and its extra are.
            flags, reward = flags_of(words[1]), rewards[2]
            if (
                flags is not None
                and words[0] == token
                and alone
                and low <= reward <= high
                # Finite: the difference of infinities is nan.
                and reward - reward == 0.0
            ):
                try:
                    return read(), reward, *flags, {}
                except Inadmissible as problem:
                    channel.violation(str(problem))
            return self._result(*channel.examine(token, self._limit()))

        return step

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Raises:
            CodecError: ``options`` are no plain data.
        """
        super().reset(seed=seed)
        token = self._channel.ask(Op.RESET, encode([seed, options], name="[seed, options]"))
        observation, _, _, _, info = self._result(*self._channel.result(token, self._limit()))
        return observation, info

    def render(self) -> Any:
        """Return a frame: an array, a text, or a list of them; ``None`` if there is nothing."""
        size = self._options.frame_bytes
        limits = DecodeLimits(
            total_bytes=size, array_bytes=size, string_bytes=size, depth=3, items=_FRAME_ITEMS
        )
        return self._channel.call(Op.RENDER, limits=limits)

    def close(self) -> None:
        """Let the environment close itself, then give the sandbox back.

        Raises:
            RemoteEnvError, SandboxCrashed, SandboxTimeout, SandboxViolation: the environment could
                not close itself. The sandbox is gone all the same.
        """
        if self._channel.closed:
            return
        try:
            self._channel.keeper.set_timeout(min(self._options.step_timeout, _CLOSE_TIMEOUT))
            self._channel.call(Op.CLOSE, limits=DecodeLimits(total_bytes=1024))
        finally:
            self._channel.close()

    def _slow_step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step where an action or observation has no fixed size."""
        channel = self._channel
        if self._put is None:
            member = admit(self.action_space, action, name="action")
            token = channel.ask(Op.STEP, encode(member, name="action"))
            return self._result(*channel.result(token, self._limit()))
        self._put(action)
        token = next(channel.tokens)
        channel.exchange(token)
        return self._result(*channel.examine(token, self._limit()))

    def _limit(self) -> int:
        return self._options.infos.total_bytes + self._options.frame_bytes

    def _result(self, kind: Kind, extra: bytes) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return a result whose header and block are in the landing, thoroughly checked."""
        channel, infos = self._channel, self._options.infos
        try:
            if kind is Kind.RESULT:
                if self._read is None:
                    channel.violation(
                        "The sandbox sent an observation in a block that is not there."
                    )
                _, _, ended, cut, _, reward = ANSWER.unpack_from(self._landing)
                info = admitted_info(extra, infos) if extra else {}
                observation = self._read()
            else:
                parts = channel.decoded(extra, DecodeLimits(total_bytes=self._limit()))
                if type(parts) is not list or len(parts) != 5:
                    channel.violation("The sandbox sent a result that has not five parts.")
                observation, reward, ended, cut, loose = parts
                info = admitted_info(encode(loose), infos)
                observation = admit(
                    self.observation_space,
                    observation,
                    name="observation",
                    rounding_steps=self._options.rounding_steps,
                )
            number = admitted_reward(reward, self._options.reward_range)
            flags = admitted_flag(ended, "terminated"), admitted_flag(cut, "truncated")
        except Inadmissible as problem:
            channel.violation(str(problem))
        return observation, number, *flags, info

    # --- state, attributes -----------------------------------------------------------------

    def _save_state(self) -> State:
        return {"boxed": self._state_call(Op.GET_STATE, b"")}

    def _load_state(self, fields: State) -> None:
        self._state_call(Op.SET_STATE, encode(fields["boxed"], name="state"))

    def _state_call(self, op: Op, payload: bytes) -> Any:
        size = self._options.state_bytes
        limits = DecodeLimits(total_bytes=size, array_bytes=size, string_bytes=min(size, 2**24))
        try:
            return self._channel.call(op, payload, limits=limits)
        except RemoteEnvError as problem:
            raise StateError(str(problem)) from problem

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name!r} cannot be had: the environment runs in a sandbox, which hands out nothing "
            "but observations, rewards, flags, infos, frames and states."
        )

    def __reduce__(self) -> Any:
        raise SandboxError("A sandboxed environment cannot be pickled or copied; make another one.")

    def __str__(self) -> str:
        of = self.remote_name if self.spec is None else self.spec.id
        return f"<{type(self).__name__}<{of}>>"
