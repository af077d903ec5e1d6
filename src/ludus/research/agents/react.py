"""An agent that asks a language model for each action.

The model answers with tool calls, or with one command in a fenced block, for models that were not
trained to call tools.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ludus.errors import ModelServerError, ResearchError
from ludus.research.agents.accounting import Caps, Meter, ModelUsage, Price
from ludus.research.agents.calls import CallLog, ModelCall, NoCallLog
from ludus.research.agents.client import (
    RESERVED,
    Backoff,
    ContextOverflow,
    ModelClient,
    RequestRefused,
    ServerFailed,
)
from ludus.research.agents.history import History, Turn, estimate_tokens
from ludus.research.agents.prompts import observation_label
from ludus.research.agents.protocol import Action, AgentStopped, StopReason
from ludus.research.agents.replies import Answer, Parsed, Reply, parse_reply
from ludus.research.agents.templates import Prompts, Templates
from ludus.research.tools.calls import tool_schemas

__all__ = ["ReactAgent", "ReactConfig"]

SMALLEST_CONTEXT = 1024
_PROBE_TOKENS = 16
_MALFORMED = "malformed reply"
_MOST_OFF = 20
"""Three characters are estimated to be a token; sixty blanks may be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactConfig:
    """A model and how it is asked."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    style: Literal["tools", "text"] = "tools"
    context_tokens: int = 32_000
    """Of prompt and reply together; what a server says to be too long lowers it."""
    reply_tokens: int = 4096
    keep_first: int = 3
    keep_last: int = 5
    max_malformed: int = 3
    """Malformed replies in a row before the agent gives up."""
    max_retries: int | None = None
    """``None`` for ``MLGYM_MODEL_MAX_RETRIES``, or 3."""
    request_timeout: float = 300.0
    caps: Caps = field(default_factory=Caps)
    prices: Mapping[str, Price] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of each request, such as ``temperature`` or ``seed``."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the server calls the limit of a reply."""
    backoff: Backoff = field(default_factory=Backoff)
    templates: Templates = field(default_factory=Templates)
    """Prompts instead of the agent's own."""
    demonstrations: Sequence[Mapping[str, str]] = ()
    """Messages, with ``role`` and ``content``, that are shown before the task."""

    def __post_init__(self) -> None:
        if self.context_tokens - self.reply_tokens < SMALLEST_CONTEXT:
            raise ResearchError(
                f"A context of {self.context_tokens} tokens leaves less than {SMALLEST_CONTEXT} "
                f"for the prompt if a reply may have {self.reply_tokens}; choose other numbers."
            )
        if self.max_malformed < 1 or self.keep_first < 0 or self.keep_last < 1:
            raise ResearchError("max_malformed and keep_last must be at least 1, keep_first 0.")
        if taken := sorted(self.options.keys() & RESERVED):
            raise ResearchError(
                f"The option {taken[0]!r} is the agent's own; give reply_tokens, style and model "
                "as fields of the configuration."
            )


class ReactAgent:
    """An agent driven by a model; one episode at a time.

    An exception, ``KeyboardInterrupt`` included, leaves the agent as it was before the call: the
    same observation may be given again.
    """

    def __init__(self, config: ReactConfig) -> None:
        """Make the agent; the server is first asked by :meth:`act`.

        Raises:
            ResearchError: There is a cap on cost, and no price for the model.
        """
        self.config = config
        self._client = ModelClient(
            config.model,
            base_url=config.base_url,
            api_key=config.api_key,
            max_retries=config.max_retries,
            timeout=config.request_timeout,
            limit_field=config.limit_field,
            backoff=config.backoff,
        )
        self._calls: CallLog = NoCallLog()
        self.reset()

    def log_calls(self, log: CallLog) -> None:
        """Report every call of the model to a log from now on, and take known answers from it."""
        self._calls = log

    def reset(self, seed: int | None = None, env: Any = None) -> None:
        """Forget the episode before; ``env`` is what the agent may know of the next one."""
        config = self.config
        price = config.prices.get(config.model)
        self._meter = Meter(config.caps, price)
        self._history = History(config.keep_first, config.keep_last)
        self._history.demonstrations = tuple(map(dict, config.demonstrations))
        self._prompts = Prompts(config.templates, config.style, _facts(env))
        self._budget = config.context_tokens - config.reply_tokens
        self._thought = ""
        self._ratio = 1.0
        """How many times more tokens a prompt has had than was estimated, at most."""

    @property
    def usage(self) -> ModelUsage:
        """Calls, tokens and money of this episode."""
        return self._meter.usage

    @property
    def cost(self) -> float:
        """Money spent in this episode."""
        return self._meter.usage.cost

    @property
    def waited(self) -> float:
        """Seconds spent waiting for the model, since the agent was made."""
        return self._client.waited

    @property
    def thought(self) -> str:
        """What the model said with its last action, or else its reasoning."""
        return self._thought

    def act(self, observation: Mapping[str, Any]) -> Action:
        """Return what the model wants to do.

        Raises:
            AgentStopped: A cap is reached, the context is full, replies stay malformed, or the
                server refuses the conversation after it has answered in it, or fails on it alone.
            ModelServerError: The server failed or refused.
        """
        self._meter.start()
        before = self._history.get_state()
        try:
            self._observe(observation)
            return self._decide()
        except BaseException:
            self._history.set_state(before)
            raise

    def check(self) -> None:
        """Check that the model's server can be reached; see :meth:`ModelClient.check`."""
        self._client.check()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get_state(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "history": self._history.get_state(),
            "usage": self._meter.get_state(),
            "budget": self._budget,
            "ratio": self._ratio,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state of :meth:`get_state`."""
        self._history.set_state(state["history"])
        self._meter.set_state(state["usage"])
        self._budget = int(state["budget"])
        self._ratio = float(state["ratio"])

    def _observe(self, observation: Mapping[str, Any]) -> None:
        history = self._history
        if not history.turns:
            history.system = self._prompts.system(observation)
            history.task, history.opening = self._prompts.opening(observation)
            return
        last = history.turns[-1]
        steps = sum(turn.label != _MALFORMED for turn in history.turns)
        result = self._prompts.result(observation, steps)
        last.output = f"{result}\n{last.output}" if last.output else result
        last.label = observation_label(observation)

    def _decide(self) -> Action:
        style, reason = self.config.style, ""
        for _ in range(self.config.max_malformed):
            reply = self._ask().reply
            parsed = parse_reply(reply, style)
            if isinstance(parsed, Parsed):
                self._thought = reply.text if reply.text.strip() else reply.reasoning
                self._history.turns.append(_turn(reply, parsed))
                return parsed.action
            reason = parsed.reason
            told = self._prompts.malformed(reason)
            # As plain text: a call that is no call could not be sent back to the server.
            self._history.turns.append(Turn(_quoted(reply), output=told, label=_MALFORMED))
        raise AgentStopped(
            f"The model gave {self.config.max_malformed} malformed replies in a row; the last one: "
            f"{reason}",
            reason=StopReason.MALFORMED,
        )

    def _ask(self) -> Answer:
        """Ask, with less and less of the history while the server finds it too long."""
        config, has_failed = self.config, False
        schemas = tool_schemas() if config.style == "tools" else []
        while True:
            overhead = len(json.dumps(schemas)) // 3
            messages = self._history.messages(self._budget - overhead)
            if messages is None:
                raise AgentStopped(
                    f"The task and the last step do not fit into {self._budget} tokens.",
                    reason=StopReason.CONTEXT,
                )
            prompt = estimate_tokens(messages) + overhead
            allowed = self._meter.admit(math.ceil(prompt * self._ratio), config.reply_tokens)
            known = self._calls.known(messages, schemas)
            if known is not None:
                self._account(known, prompt)
                return known
            try:
                answer = self._client.ask(
                    messages,
                    tools=schemas,
                    max_tokens=allowed,
                    seconds=self._meter.seconds_left,
                    options=config.options,
                )
            except ContextOverflow:
                self._budget = min(self._budget, prompt) * 3 // 4
                continue
            except RequestRefused as problem:
                if not self._meter.usage.calls:
                    raise
                # Key, model and fields were accepted before. New is only what the agent added.
                raise _refused(problem) from problem
            except ModelServerError as problem:
                if self._meter.seconds_left <= 0:
                    raise AgentStopped(
                        f"Time was over before the model answered: {problem}",
                        reason=StopReason.TIME,
                    ) from problem
                if not isinstance(problem, ServerFailed) or not self._meter.usage.calls:
                    raise
                # What the agent printed may bring the server down. That is the case if it
                # answers the first request of the episode, and fails on this one again.
                if has_failed:
                    raise _refused(problem) from problem
                if not self._answers_first_request(schemas):
                    raise
                has_failed = True
                continue
            self._report(answer, prompt, messages, schemas)
            return answer

    def _answers_first_request(self, schemas: Any) -> bool:
        """Ask what was asked first in this episode, when nothing was the agent's yet."""
        history = self._history
        opening = History(
            system=history.system,
            task=history.task,
            opening=history.opening,
            demonstrations=history.demonstrations,
        )
        messages = opening.messages() or []
        try:
            answer = self._client.ask(
                messages,
                tools=schemas,
                max_tokens=_PROBE_TOKENS,
                seconds=self._meter.seconds_left,
                options=self.config.options,
                retries=0,
            )
        except ModelServerError:
            return False
        prompt = estimate_tokens(messages) + len(json.dumps(schemas)) // 3
        self._report(answer, prompt, messages, schemas, is_probe=True)
        return True

    def _report(
        self, answer: Answer, prompt: int, messages: Any, schemas: Any, *, is_probe: bool = False
    ) -> None:
        """Put a call on the account and into the log."""
        before = self._meter.usage
        self._account(answer, prompt)
        after = self._meter.usage
        usage = {
            "prompt_tokens": after.prompt_tokens - before.prompt_tokens,
            "completion_tokens": after.completion_tokens - before.completion_tokens,
        }
        cost = after.cost - before.cost
        self._calls.add(ModelCall(messages, schemas, answer, cost, usage, is_probe))

    def _account(self, answer: Answer, prompt: int) -> None:
        said = answer.reply
        length = sum(len(call.arguments) for call in said.calls)
        length += len(said.text) + len(said.reasoning)
        # A server that counts next to nothing would make every cap on tokens and cost void.
        asked = _plausible(answer.prompt_tokens, prompt)
        given = _plausible(answer.completion_tokens, length // 3)
        if asked is not None:
            self._ratio = max(self._ratio, asked / prompt)
        self._meter.add(
            prompt if asked is None else asked,
            length // 3 + 1 if given is None else given,
            cached=answer.cached_tokens,
            retries=answer.retries,
            estimated=asked is None or given is None,
        )


def _plausible(stated: int | None, estimate: int) -> int | None:
    """Return a stated count of tokens, unless it is far below what any tokenizer gives."""
    return None if stated is None or stated * _MOST_OFF < estimate else stated


def _facts(view: Any) -> dict[str, str]:
    """Return the variables of templates that an episode begins with."""
    task, seconds = getattr(view, "task", None), getattr(view, "command_seconds", None)
    facts = {"id": task} if isinstance(task, str) else {}
    return facts if seconds is None else {**facts, "training_timeout": f"{seconds:g}"}


def _refused(problem: Exception) -> AgentStopped:
    return AgentStopped(
        f"The model's server does not take what the conversation holds: {problem}",
        reason=StopReason.REFUSED,
    )


def _turn(reply: Reply, parsed: Parsed) -> Turn:
    call = parsed.call
    if call is None:
        return Turn(reply.text, output=parsed.note)
    return Turn(reply.text, call.name, call.arguments, call.id, output=parsed.note)


def _quoted(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.calls]
    return "\n".join([reply.text, *calls])[:4000] or "(empty reply)"
