"""Serves requests of the host: step, reset, render, save and restore an environment."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.codec import DecodeLimits, decode, encode
from ludus.untrusted.channel.protocol import ANSWER, REQUEST, Kind, MessagePlan, Op, plain_answers
from ludus.untrusted.inside.link import Link, Request
from ludus.untrusted.inside.values import batch_reader, batch_writer, row_reader, row_writer
from ludus.untrusted.validate.results import COLUMN

__all__ = ["LARGE", "Servant", "described", "packed_columns"]

LARGE = DecodeLimits(
    total_bytes=2**28, array_bytes=2**28, string_bytes=2**24, items=2**24, depth=100
)
_TEXT, _TRACE = 4000, 12_000


class Servant:
    """Serves an environment, or a batch of them.

    Args:
        env: the environment.
        link: the channel.
        plan: what lies where in its memory.
        spaces: observation and action space of a single environment.
    """

    def __init__(self, env: Any, link: Link, plan: MessagePlan, spaces: tuple[Any, Any]) -> None:
        self._env, self._link = env, link
        self._batch = plan.num_envs is not None
        observation, action = spaces
        self._write: Callable[[Any], bool] | None = None
        self._read: Callable[[], Any] | None = None
        if plan.observation is not None:
            write = batch_writer if self._batch else row_writer
            self._write = write(observation, plan.observations(link.answer))
        if plan.action is not None:
            read = batch_reader if self._batch else row_reader
            self._read = read(action, plan.actions(link.memory))
        self._rewards, self._flags = plan.rewards(link.answer), plan.flags(link.answer)
        self._tell = self._tell_batch if self._batch else self._tell_one
        self._operations: dict[int, Callable[[int, bytes], None]] = {
            Op.STEP: self._step,
            Op.RESET: self._reset,
            Op.RENDER: lambda token, _: self._say(token, self._env.render()),
            Op.GET_STATE: lambda token, _: self._say(token, self._env.get_state()),
            Op.SET_STATE: self._set_state,
            Op.CLOSE: lambda token, _: self._say(token, self._env.close()),
        }

    def serve(self) -> None:
        """Answer requests until the host is gone or asks to close."""
        hear = self._link.hear
        if self._link.shared and not self._batch and self._write and self._read:
            hear = self._stepping(self._write, self._read)
        while (request := hear()) is not None:
            token, op, extra = request
            self._answer(token, op, extra)
            if op == Op.CLOSE:
                return

    def _answer(self, token: int, op: int, extra: bytes) -> None:
        try:
            self._operations[op](token, extra)
        except BaseException as problem:  # any error is reported to the host
            self._link.say(token, Kind.RAISED, described(problem))

    def _stepping(
        self, store: Callable[[Any], bool], action: Callable[[], Any]
    ) -> Callable[[], Request | None]:
        """Return what makes plain steps at once, and hands on any other request."""
        link, step, tell = self._link, self._env.step, self._tell
        listen, ring, memory, plain_step = link.listen, link.ring, link.memory, int(Op.STEP)
        request, answer = MessagePlan.words(memory, 0, 2), MessagePlan.words(link.answer, 0, 2)
        rewards = link.answer[: ANSWER.size].cast("d")
        plain = plain_answers()

        def hear() -> Request | None:
            while listen():
                token = request[0]
                if request[1] != plain_step:
                    _, op, size = REQUEST.unpack_from(memory)
                    return token, op, link.extra_of(size)
                try:
                    seen, reward, ended, cut, info = step(action())
                    if (
                        not info
                        and reward.__class__ is float
                        and ended.__class__ is bool
                        and cut.__class__ is bool
                        and store(seen)
                    ):
                        answer[0], answer[1], rewards[2] = token, plain[ended, cut], reward
                        ring(token)
                    else:
                        tell(token, seen, reward, ended, cut, info)
                except BaseException as problem:  # any error is reported to the host
                    link.say(token, Kind.RAISED, described(problem))
            return None

        return hear

    def _say(self, token: int, value: Any) -> None:
        self._link.say(token, Kind.VALUE, encode(value, LARGE))

    def _set_state(self, token: int, extra: bytes) -> None:
        self._env.set_state(decode(extra, LARGE))
        self._say(token, None)

    def _reset(self, token: int, extra: bytes) -> None:
        seed, options = decode(extra, LARGE)
        observation, info = self._env.reset(seed=seed, options=options)
        if not self._batch:
            self._tell(token, observation, 0.0, False, False, info)
            return
        nothing = np.zeros((3, self._flags.shape[1]))
        ended, cut = nothing[:2].astype(np.bool_)
        self._tell(token, observation, nothing[2], ended, cut, info)

    def _step(self, token: int, extra: bytes) -> None:
        read = self._read
        action = decode(extra, LARGE) if read is None else read()
        self._tell(token, *self._env.step(action))

    def _tell_one(
        self, token: int, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any
    ) -> None:
        write = self._write
        if (
            terminated.__class__ is bool
            and truncated.__class__ is bool
            and info.__class__ is dict
            and (reward.__class__ is float or isinstance(reward, int | np.floating | np.integer))
            and write is not None
            and write(observation)
        ):
            extra = encode(info, LARGE) if info else b""
            self._link.say(token, Kind.RESULT, extra, terminated, truncated, float(reward))
        else:
            loose = [observation, reward, terminated, truncated, info]
            self._link.say(token, Kind.LOOSE, encode(loose, LARGE))

    def _tell_batch(
        self, token: int, observation: Any, reward: Any, ended: Any, cut: Any, info: Any
    ) -> None:
        n, write = self._flags.shape[1], self._write
        if (
            all(_is_array(flags, np.bool_, n) for flags in (ended, cut))
            and _is_array(reward, np.float64, n)
            and info.__class__ is dict
            and write is not None
            and write(observation)
        ):
            self._rewards[:] = reward
            self._flags[0], self._flags[1] = ended, cut
            extra = encode(packed_columns(info), LARGE) if info else b""
            self._link.say(token, Kind.RESULT, extra)
        else:
            loose = [observation, reward, ended, cut, packed_columns(info)]
            self._link.say(token, Kind.LOOSE, encode(loose, LARGE))


def _is_array(value: Any, dtype: Any, n: int) -> bool:
    return value.__class__ is np.ndarray and value.dtype == dtype and value.shape == (n,)


def packed_columns(infos: Any) -> Any:
    """Return infos of a batch with lists in place of arrays of objects."""
    if isinstance(infos, dict):
        return {key: packed_columns(value) for key, value in infos.items()}
    if isinstance(infos, np.ndarray) and infos.dtype.hasobject:
        return (COLUMN, infos.tolist())
    return infos


def described(problem: BaseException) -> bytes:
    """Return the encoded description of an exception."""
    try:
        text = str(problem)[:_TEXT]
    except BaseException:  # __str__ of the environment's own class may raise anything
        text = "(its text is not available)"
    try:
        trace = "".join(traceback.format_exception(problem))[-_TRACE:]
    except BaseException:  # likewise
        trace = ""
    told = {"type": type(problem).__name__, "text": text, "trace": trace}
    # Lone surrogates have no encoding.
    clean = {key: word.encode("utf-8", "replace").decode() for key, word in told.items()}
    return encode(clean, LARGE)
