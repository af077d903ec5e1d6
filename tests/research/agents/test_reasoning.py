"""Models that think before they answer, and servers that say more than the reply."""

from __future__ import annotations

import pytest

from ludus.research.agents import AgentStopped
from ludus.research.agents.replies import LEAST_LOGPROB, Malformed, parse_answer, parse_reply
from ludus.research.model_server.policies import Raw, Say, in_order
from ludus.research.model_server.server import ModelServer
from tests.research.agents.support import LS, agent_on, seen

pytest.importorskip("openai")

FENCED = "```bash\nls\n```"


def body(content, finish="stop", message=None, **choice):
    message = {"role": "assistant", "content": content, **(message or {})}
    return {"choices": [{"message": message, "finish_reason": finish, **choice}]}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_of_the_server_is_kept_apart(name):
    answer = parse_answer(body(FENCED, message={name: "Look first."}))
    assert (answer.reasoning, answer.reply.reasoning) == ("Look first.", "Look first.")
    assert answer.message == {"role": "assistant", "content": FENCED}
    assert parse_reply(answer.reply, "text").action == "ls"


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        (f"<think>\nMaybe\n```bash\nrm -r *\n```\n</think>\n\n{FENCED}", "Maybe"),
        (f"\n <think>so</think>{FENCED}", "so"),
        # The opening tag was part of the prompt.
        (f"Maybe\n```bash\nrm -r *\n```\n</think>\n{FENCED}", "Maybe"),
        ("```bash\ngrep '</think>' a.txt\n```", None),
    ],
)
def test_a_command_is_looked_for_after_the_thinking(text, thought):
    answer = parse_answer(body(text))
    found = parse_reply(answer.reply, "text").action
    assert found == ("ls" if thought else "grep '</think>' a.txt")
    assert answer.reply.reasoning.startswith(thought or "")
    assert answer.message["content"] == text  # as it was, for training


@pytest.mark.parametrize(
    ("content", "finish", "told"),
    [
        (f"<think>\n{FENCED}\n</think>\n", "stop", "inside the reasoning is not run"),
        ("<think>\nAnd so on and", "length", "cut off because it was too long"),
        ("<think>\nAnd so on and", "stop", "ended before its reasoning did"),
        ("Then\n```bash\nls", "length", "cut off because it was too long"),
        ("", "length", "cut off because it was too long"),
    ],
)
@pytest.mark.parametrize("style", ["text", "tools"])
def test_the_model_is_told_what_was_wrong(content, finish, told, style):
    first = Raw(body(content, finish))
    good = Say(FENCED) if style == "text" else LS
    with ModelServer(in_order([first, good])) as server:
        agent = agent_on(server, style=style)
        assert agent.act(seen()) == "ls"
        agent.close()
    assert told in server.requests[1].messages[-1]["content"]


def test_reasoning_without_an_answer_is_told_and_does_not_end_in_silence():
    only = Raw(body(None, "length", {"reasoning_content": "Hm. " * 50}))
    with ModelServer(in_order([only] * 3)) as server:
        agent = agent_on(server)
        with pytest.raises(AgentStopped, match="has reasoning and nothing else") as stopped:
            agent.act(seen())
        agent.close()
    assert stopped.value.reason == "malformed_replies"
    assert "has reasoning and nothing else" in server.requests[1].messages[-1]["content"]


def test_what_was_thought_stands_for_a_thought():
    call = {"id": "c", "type": "function", "function": {"name": "submit", "arguments": "{}"}}
    silent = Raw(body("", message={"reasoning": "Done.", "tool_calls": [call]}))
    with ModelServer(in_order([silent, LS])) as server:
        agent = agent_on(server)
        agent.act(seen())
        assert agent.thought == "Done."
        agent.act(seen())
        agent.close()
    # Reasoning is not sent back, as servers expect it.
    assert "Done." not in server.requests[1].text


def test_tokens_in_the_forms_of_servers():
    rows = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": float("-inf")}]
    vllm = body("ab", token_ids=[7, 8], logprobs={"content": rows}) | {"prompt_token_ids": [1, 2]}
    answer = parse_answer(vllm)
    assert (answer.prompt_token_ids, answer.completion_token_ids) == ([1, 2], [7, 8])
    assert answer.logprobs == [-0.5, LEAST_LOGPROB]
    named = [{"token": "token_id:7", "logprob": -1}, {"token": "token_id:8", "logprob": 0}]
    assert parse_answer(body("ab", logprobs={"content": named})).completion_token_ids == [7, 8]
    llama = [{"id": 3, "token": "a", "logprob": -1.0}]
    assert parse_answer(body("a", logprobs={"content": llama})).completion_token_ids == [3]


@pytest.mark.parametrize(
    "choice",
    [
        {"token_ids": [1, -2]},
        {"token_ids": "1 2", "logprobs": {"content": [{"logprob": "high"}]}},
        {"token_ids": [True], "logprobs": [1]},
        {"logprobs": {"content": [{"token": "a", "logprob": float("nan")}, None]}},
    ],
)
def test_tokens_that_are_none(choice):
    answer = parse_answer(body("ab", **choice))
    assert answer.completion_token_ids is None
    assert answer.logprobs is None
    assert isinstance(parse_reply(answer.reply, "text"), Malformed)
