"""Chat completions as they go over the wire, whole or in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ludus.research.model_server.policies import Call, Say, count_tokens

__all__ = ["are_messages", "chunks", "completion"]

PIECE = 16
"""Characters of a text that are sent at once."""


def are_messages(messages: Any) -> bool:
    """Whether these are messages of a conversation, as far as the server reads them."""
    return isinstance(messages, list) and all(isinstance(message, dict) for message in messages)


def completion(reaction: Say | Call, body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the body of an answer to the request's body."""
    message: dict[str, Any] = {"role": "assistant", "content": reaction.text}
    reason = "tool_calls"
    if isinstance(reaction, Call):
        arguments = reaction.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": reaction.tool, "arguments": text}
        step = sum(m.get("role") == "assistant" for m in body["messages"])
        message["tool_calls"] = [{"id": f"call_{step}", "type": "function", "function": function}]
    else:
        reason = reaction.finish_reason
    prompt = count_tokens(body["messages"])
    reply = count_tokens(message)
    return {
        "id": "chatcmpl-ludus",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": reply,
            "total_tokens": prompt + reply,
        },
    }


def chunks(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a completion in pieces, as a stream has them; the last one has the usage."""
    head = {key: whole[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    choice = whole["choices"][0]
    for delta in _deltas(choice["message"]):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [last]}
    yield {**head, "choices": [], "usage": whole["usage"]}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(message["content"]):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": index, "function": function}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
