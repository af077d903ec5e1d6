"""Client for an OpenAI-compatible server, with retries.

Failed or broken connections, incomplete answers, 5xx, 408, 409 and 429 are retried. Other refusals
are not, since they would be repeated.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from ludus.errors import ModelServerError
from ludus.optional import require
from ludus.research.agents.replies import Answer, Unreadable, parse_answer
from ludus.research.agents.transport import HEADERS, Connections, ErrorAnswer, without_key
from ludus.research.task.settings import MlgymSettings

__all__ = [
    "RESERVED",
    "Backoff",
    "ContextOverflow",
    "ModelClient",
    "RequestRefused",
    "ServerFailed",
    "retry_after",
]

MAX_ANSWER_BYTES = 2**24
_CHECK_SECONDS = 20.0
RESERVED = frozenset(
    {
        "max_completion_tokens", "max_tokens", "messages", "model", "n", "stream", "tool_choice",
        "tools",
    }
)  # fmt: skip
"""Fields of a request that options cannot set, as caps and parsing depend on them."""
_PASSING = frozenset({408, 409, 425, 429})
_OF_CONTENT = frozenset({400, 403, 413, 422})
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "string_above_max_length"})
_OVERFLOW_WORDS = ("context length", "context window", "maximum context", "too many tokens")


class ContextOverflow(ModelServerError):
    """The server refused a prompt because it is too long for the model."""


class RequestRefused(ModelServerError):
    """The server refused a request with a status that the request's content can cause."""


class ServerFailed(ModelServerError):
    """The server failed on every attempt; the content of the request may be the cause."""


class _Passing(Exception):
    """A fault that may be gone at the next attempt."""

    def __init__(self, what: str, asked: float | None = None) -> None:
        super().__init__(what)
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waiting times that double, scattered so that many agents do not come back at once."""

    first: float = 1.0
    longest: float = 60.0
    longest_asked: float = 600.0
    """A server that asks for more than this is not waited for."""
    sleep: Callable[[float], None] = time.sleep

    def wait(self, attempt: int, asked: float | None, scatter: random.Random) -> float:
        """Return the seconds to wait after so many failures; what a server asks for is kept."""
        if asked is not None:
            return asked
        doubled = self.first * 2.0 ** min(attempt - 1, 60)
        return min(self.longest, doubled) * scatter.uniform(0.5, 1.0)


@dataclass(slots=True)
class ModelClient:
    """A model on a server.

    Args:
        model: Its name there.
        base_url: Of the server, up to ``/v1``; ``None`` for the ``openai`` package's default.
        api_key: ``None`` for ``OPENAI_API_KEY``; optional with a ``base_url``.
        max_retries: ``None`` for ``MLGYM_MODEL_MAX_RETRIES``, or 3.
        timeout: Seconds for one attempt.
        backoff: Waiting times between attempts.
        limit_field: The server's name for the limit of a reply.
        seed: Of the jitter of waiting times.

    Attributes:
        waited: Seconds spent in :meth:`ask`, pauses and failed attempts included.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = None
    max_retries: int | None = None
    timeout: float = 300.0
    backoff: Backoff = field(default_factory=Backoff)
    limit_field: str = "max_tokens"
    seed: int = 0
    waited: float = field(default=0.0, init=False)
    _openai: Any = None
    _client: Any = None
    _connections: Connections = field(default_factory=Connections, init=False)
    _scatter: random.Random = field(init=False)

    def __post_init__(self) -> None:
        if self.max_retries is None:
            self.max_retries = MlgymSettings.read().model_max_retries
        self._scatter = random.Random(self.seed)  # noqa: S311 - spreads load, guards nothing

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        max_tokens: int,
        seconds: float,
        options: Mapping[str, Any] | None = None,
        retries: int | None = None,
    ) -> Answer:
        """Return the model's answer.

        Args:
            messages: The conversation.
            tools: Tools that the model may call.
            max_tokens: Limit of the reply.
            seconds: For all attempts together, waiting included.
            options: Further fields of the request, such as ``temperature``; none of
                :data:`RESERVED`.
            retries: Instead of ``max_retries``.

        Raises:
            ContextOverflow: The messages are too long for the model.
            DependencyNotInstalled: The package ``openai`` is missing.
            RequestRefused: The server refused, possibly because of the messages' content.
            ServerFailed: The server failed on every attempt.
            ModelServerError: The server refused otherwise, or there is no time for a retry.
        """
        body: dict[str, Any] = {"model": self.model, "messages": list(messages)}
        body |= {self.limit_field: max_tokens, "extra_body": dict(options or {})}
        if tools:
            body["tools"] = list(tools)
        began = time.monotonic()
        end = began + seconds
        most = (self.max_retries or 0) if retries is None else retries
        attempt = 0
        try:
            while True:
                try:
                    answer = self._attempt(body, min(self.timeout, end - time.monotonic()))
                except _Passing as problem:
                    attempt += 1
                    self._wait(attempt, most, problem, end)
                else:
                    answer.retries, answer.seconds = attempt, time.monotonic() - began
                    return answer
        finally:
            self.waited += time.monotonic() - began

    def check(self) -> None:
        """Ask the server for its models, once, to see whether it can be reached.

        Only what certainly keeps every request from being answered is an error. A server that
        lists no models, or is busy, is not.

        Raises:
            DependencyNotInstalled: The package ``openai`` is missing.
            ModelServerError: There is no key, it is refused, or nothing listens at the address.
        """
        client, library = self._connected(), self._openai
        where = str(client.base_url).rstrip("/")
        try:
            with self._connections.deadline(_CHECK_SECONDS):
                client.models.list(timeout=_CHECK_SECONDS)
        except library.APITimeoutError:
            return
        except Exception as problem:  # which one it is depends on openai's version
            answer = _error_answer(problem)
            if answer is not None and answer.status in (401, 403):
                raise ModelServerError(
                    f"The model's server at {where} refuses the key (status {answer.status}). "
                    "Set OPENAI_API_KEY to one that it accepts."
                ) from problem
            if answer is None and isinstance(problem, library.APIConnectionError):
                raise ModelServerError(
                    f"The model's server at {where} cannot be reached: "
                    f"{problem.__cause__ or problem}. Start it, or give its address: --base-url "
                    "http://HOST:PORT/v1."
                ) from problem

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _wait(self, attempt: int, most: int, problem: _Passing, end: float) -> None:
        if attempt > most:
            raise ServerFailed(
                f"The model's server failed {attempt} times, the last time so: {problem}. "
                "Check the server, or allow more retries with MLGYM_MODEL_MAX_RETRIES."
            ) from problem
        pause = self.backoff.wait(attempt, problem.asked, self._scatter)
        if pause > self.backoff.longest_asked or time.monotonic() + pause >= end:
            raise ModelServerError(
                f"The model's server failed ({problem}), and waiting {pause:.1f} s before the next "
                "attempt would take longer than there is time for."
            ) from problem
        self.backoff.sleep(pause)

    def _attempt(self, body: Mapping[str, Any], seconds: float) -> Answer:
        client = self._connected()
        end = time.monotonic() + seconds
        try:
            stream = client.chat.completions.with_streaming_response
            with (
                self._connections.deadline(seconds),
                stream.create(**body, timeout=max(seconds, 0.001)) as response,
            ):
                raw = _read(response, end)
        except (ModelServerError, _Passing):
            raise
        except Exception as problem:  # which one it is depends on openai's version
            if (answer := _error_answer(problem)) is not None:
                raise self._refusal(answer) from problem
            told = f"no answer, {type(problem).__name__}: {problem.__cause__ or problem}"
            raise _Passing(without_key(told, self._key)) from problem
        try:
            # The key, which some servers repeat, is not for records.
            text = without_key(raw.decode(json.detect_encoding(raw)), self._key)
            return parse_answer(json.loads(text))
        except (ValueError, RecursionError, Unreadable) as problem:
            raise _Passing(f"its answer cannot be read: {problem}") from problem

    def _refusal(self, problem: ErrorAnswer) -> Exception:
        """Return the exception for an answer with an error's status."""
        status, code = problem.status, problem.code
        text = without_key(problem.text, self._key)
        if status in (400, 413, 422) and _is_overflow(code, text):
            return ContextOverflow(f"The prompt is too long for {self.model!r}: {text}")
        if code != "insufficient_quota" and (status in _PASSING or status >= 500):
            return _Passing(f"status {status}, {text}", retry_after(problem.headers))
        is_content = status in _OF_CONTENT and code != "insufficient_quota"
        return (RequestRefused if is_content else ModelServerError)(
            f"The model's server refused the request with status {status}: {text} Check "
            "the model's name, the base URL and the key."
        )

    @property
    def _key(self) -> str | None:
        return self.api_key or os.environ.get("OPENAI_API_KEY")

    def _connected(self) -> Any:
        if self._client is None:
            openai = require("openai", extra="research", purpose="Asking a model")
            self._openai = openai
            key = self._key
            try:
                # Retries are ours: only so are they counted, bounded in time and interruptible.
                self._client = openai.OpenAI(
                    base_url=self.base_url,
                    api_key=key or ("unused" if self.base_url else None),
                    max_retries=0,
                    default_headers=HEADERS,
                    http_client=self._connections.client(openai),
                )
            except openai.OpenAIError as problem:
                raise ModelServerError(
                    f"The model's server cannot be asked: {problem} Set OPENAI_API_KEY, or "
                    "give the base URL of a server that needs no key."
                ) from problem
        return self._client


def _read(response: Any, end: float) -> bytes:
    """Return the body, bounded in size and in time, however slowly it comes."""
    parts, size = [], 0
    try:
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise ModelServerError(
                    f"The model's server sent more than {MAX_ANSWER_BYTES} bytes for one answer."
                )
            if time.monotonic() > end:
                raise _Passing("its answer did not end in time")
    except (ModelServerError, _Passing):
        raise
    except Exception as problem:  # the HTTP library's own, which depends on openai's version
        raise _Passing(f"its answer broke off, {type(problem).__name__}: {problem}") from problem
    return b"".join(parts)


def _error_answer(problem: Exception) -> ErrorAnswer | None:
    """Return the answer behind an exception of ``openai``, if there was one."""
    found = (problem, problem.__cause__, problem.__context__)
    return next((one for one in found if isinstance(one, ErrorAnswer)), None)


def _is_overflow(code: str, text: str) -> bool:
    lower = text.lower()
    return code in _OVERFLOW_CODES or any(words in lower for words in _OVERFLOW_WORDS)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, by either form of ``Retry-After``."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 16:
            return float(text) / unit
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
