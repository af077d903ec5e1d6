"""Results of actions as MCP has them: blocks of content, and structured content."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from ludus.serve.schemas import plain
from ludus.serve.served import Served
from ludus.serve.session import Result
from ludus.serve.tool_calls import observation_schema, view_of

__all__ = ["PNG", "failed", "picture_block", "result_schema", "step_result"]

PNG = "image/png"
_OVER = "The episode is over."
_FLAGS: dict[str, Any] = {
    "reward": {"type": ["number", "string", "null"], "description": "Of the last action."},
    "terminated": {"type": "boolean", "description": "Whether a final state was reached."},
    "truncated": {"type": "boolean", "description": "Whether a limit ended the episode."},
    "steps_left": {"type": ["integer", "null"], "description": "Until the limit of steps."},
}
"""What results contain where the operator allows it."""


def result_schema(served: Served, *, rewards: bool) -> dict[str, Any]:
    """Return the JSON Schema of the structured content of :func:`step_result`."""
    properties = {
        "observation": observation_schema(served),
        "over": {"type": "boolean", "description": "Whether the episode is over."},
        **(_FLAGS if rewards else {}),
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def step_result(served: Served, result: Result, *, rewards: bool, steps: int) -> CallToolResult:
    """Return the result of an action for the agent.

    The reward that ends a research task is that of the test: it stays with the operator.

    Args:
        served: What was acted on.
        result: The result of the action.
        rewards: Whether the operator allows reward and flags.
        steps: Number of steps so far.
    """
    view = view_of(served, result.observation)
    is_over = bool(result.terminated or result.truncated)
    data: dict[str, Any] = {"observation": view.data, "over": is_over}
    if rewards:
        most = served.facts.spec.max_episode_steps
        is_test = is_over and served.kind == "research"
        data |= {
            "reward": None if is_test else plain(float(result.reward)),
            "terminated": bool(result.terminated),
            "truncated": bool(result.truncated),
            "steps_left": None if most is None else max(0, most - steps),
        }
    text = f"{view.text}\n\n{_OVER}" if is_over else view.text
    blocks: list[ContentBlock] = [TextContent(text=text)]
    blocks += [picture_block(png) for png in view.pictures]
    return CallToolResult(content=blocks, structured_content=data)


def picture_block(png: bytes) -> ImageContent:
    """Return a picture as a block of content."""
    return ImageContent(data=b64encode(png).decode(), mime_type=PNG)


def failed(text: str) -> CallToolResult:
    """Return the result of a call that was not carried out; a model reads the text."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
