"""The loop over real HTTP, against the scripted server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest

from ludus.errors import DependencyNotInstalled, ModelServerError, ResearchError
from ludus.research.agents import AgentStopped, Caps, Price, StopReason, client
from ludus.research.agents.client import Backoff
from ludus.research.agents.templates import Templates, checked_demonstrations
from ludus.research.model_server.policies import Break, Call, Fail, Raw, Say, Slow, in_order
from ludus.research.model_server.server import ModelServer
from tests.research.agents.support import LS, Waits, agent_on, seen

pytest.importorskip("openai")

FENCED = "I look around.\n\n```bash\nls\n```\n"


def test_tool_calls_become_actions_and_results_go_back():
    script = [LS, Call("open", {"path": "a.py", "line": 3}), Call("submit")]
    with ModelServer(in_order(script)) as server:
        agent = agent_on(server)
        assert agent.act(seen("files are there")) == "ls"
        assert agent.thought == "I look around."
        opened = {"tool": "open", "arguments": {"path": "a.py", "line": 3}}
        assert agent.act(seen("a.py\nb.py\n")) == opened
        assert agent.act(seen("3: pass", exit_code=1)) == {"tool": "submit", "arguments": {}}
        agent.close()
        last = server.requests[-1]
    assert [m["role"] for m in last.messages] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert "Predict the weather." in last.messages[1]["content"]
    assert "a.py\nb.py" in last.messages[3]["content"]
    assert "exit code: 1" in last.messages[5]["content"]
    assert last.messages[3]["tool_call_id"] == last.messages[2]["tool_calls"][0]["id"]
    assert {tool["function"]["name"] for tool in last.body["tools"]} >= {"shell", "edit", "submit"}


def test_text_style_needs_no_tools():
    with ModelServer(in_order([Say(FENCED), Say("```\ncat a \\\n  b\nwc c\n```")])) as server:
        agent = agent_on(server, style="text")
        assert agent.act(seen()) == "ls"
        assert agent.act(seen("a")) == "cat a \\\n  b\nwc c"
        agent.close()
    assert "tools" not in server.requests[0].body
    assert "search_dir" in server.requests[0].messages[0]["content"]
    assert [m["role"] for m in server.requests[1].messages][2:] == ["assistant", "user"]


def test_only_the_first_of_several_calls_is_carried_out_and_the_model_is_told():
    def call(n):
        return {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "goto", "arguments": f'{{"line": {n}}}'},
        }

    both = {"choices": [{"message": {"content": None, "tool_calls": [call(1), call(2)]}}]}
    with ModelServer(in_order([Raw(both), LS])) as server:
        agent = agent_on(server)
        assert agent.act(seen()) == {"tool": "goto", "arguments": {"line": 1}}
        agent.act(seen("line one"))
        agent.close()
    reply, result = server.requests[1].messages[2:]
    assert len(reply["tool_calls"]) == 1
    assert "1 more" in result["content"]
    assert "line one" in result["content"]
    assert agent.usage.estimated_calls == 1


MALFORMED = [
    Say("I would rather talk."),
    Call("fly", {}),
    Call("open", "{not json"),
    Call("open", '["a.py"]'),
    Call("open", {}),
    Call("open", {"path": 3}),
    Call("goto", {"line": "3"}),
    Call("goto", {"line": True}),
    Call("open", {"path": "a", "mode": "w"}),
    Call("shell", {"command": "   "}),
    Call("shell", {"command": "ls\0"}),
    Call("shell", {"command": "x" * 300_000}),
    Call("shell", "[" * 50_000),
    Raw({"choices": [{"message": {"content": [{"type": "image"}], "tool_calls": "no"}}]}),
    Raw({"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": 1}}]}}]}),
]


@pytest.mark.parametrize("bad", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_replies_are_pointed_out_and_asked_for_again(bad):
    with ModelServer(in_order([bad, bad, LS, LS])) as server:
        agent = agent_on(server)
        assert agent.act(seen()) == "ls"
        assert agent.act(seen("fine")) == "ls"
        agent.close()
    told = server.requests[1].messages[-1]
    assert told["role"] == "user"
    assert told["content"].startswith("Nothing was done: ")
    assert agent.usage.calls == 4


@pytest.mark.parametrize("text", ["no block", "```\na\n```\n\n```\nb\n```", "```\n\n```", "``` ls"])
def test_malformed_texts(text):
    with ModelServer(in_order([Say(text, "length"), Say(FENCED)])) as server:
        agent = agent_on(server, style="text")
        assert agent.act(seen()) == "ls"
        agent.close()
    assert "cut off" in server.requests[1].messages[-1]["content"]


def test_malformed_replies_in_a_row_are_a_typed_end():
    with ModelServer(lambda _: Say("no")) as server:
        agent = agent_on(server, max_malformed=3)
        with pytest.raises(AgentStopped, match="3 malformed replies") as stopped:
            agent.act(seen())
        agent.close()
    assert stopped.value.reason is StopReason.MALFORMED
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "fault",
    [
        Fail(500),
        Fail(502),
        Fail(503),
        Fail(429),
        Fail(408),
        Break("truncated"),
        Break("short"),
        Break("nothing"),
        Raw("no object"),
        Raw({"choices": []}),
        Raw({"choices": [{"message": None}]}),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(fault):
    waits = Waits()
    with ModelServer(in_order([fault, fault, LS])) as server:
        agent = agent_on(server, waits)
        assert agent.act(seen()) == "ls"
        agent.close()
    assert len(waits) == 2
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0
    assert agent.usage.retries == 2
    assert agent.usage.calls == 1
    assert [r.body for r in server.requests[1:]] == [server.requests[0].body] * 2


@pytest.mark.parametrize(
    "fault", [Fail(400), Fail(401), Fail(404), Fail(429, code="insufficient_quota")], ids=str
)
def test_what_would_be_refused_again_is_not(fault):
    waits = Waits()
    with ModelServer(lambda _: fault) as server:
        agent = agent_on(server, waits)
        with pytest.raises(ModelServerError, match=f"status {fault.status}"):
            agent.act(seen())
        agent.close()
    assert waits == []
    assert len(server.requests) == 1


@pytest.mark.parametrize(("value", "tries"), [("0", 1), ("2", 3), ("", 4)])
def test_the_number_of_retries_comes_from_the_environment(monkeypatch, value, tries):
    monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", value)
    with ModelServer(lambda _: Fail(500)) as server:
        agent = agent_on(server)
        with pytest.raises(ModelServerError, match=f"failed {tries} times"):
            agent.act(seen())
        agent.close()
    assert len(server.requests) == tries


@pytest.mark.parametrize("value", ["many", "-1", "1.5"])
def test_a_wrong_number_of_retries_is_refused(monkeypatch, value):
    monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", value)
    with (
        ModelServer(in_order([])) as server,
        pytest.raises(ResearchError, match="MLGYM_MODEL_MAX_RETRIES"),
    ):
        agent_on(server)


def test_retry_after_is_honoured():
    waits = Waits()
    script = [Fail(429, retry_after="17"), Fail(503, retry_after="2.5"), LS]
    with ModelServer(in_order(script)) as server:
        agent = agent_on(server, waits)
        agent.act(seen())
        agent.close()
    assert waits == [17.0, 2.5]


def test_a_server_that_wants_to_be_left_alone_for_days_is_not_waited_for():
    waits = Waits()
    with ModelServer(lambda _: Fail(429, retry_after="86400")) as server:
        agent = agent_on(server, waits)
        with pytest.raises(ModelServerError, match="longer than there is time"):
            agent.act(seen())
        agent.close()
    assert waits == []


def test_a_server_that_is_not_there_is_an_infrastructure_fault():
    with ModelServer(in_order([])) as server:
        agent = agent_on(server, max_retries=1)
    with pytest.raises(ModelServerError, match="failed 2 times"):
        agent.act(seen())
    agent.close()


def test_a_slow_server_times_out():
    with ModelServer(lambda _: Slow(60, LS)) as server:
        agent = agent_on(server, request_timeout=0.2, max_retries=1)
        with pytest.raises(ModelServerError, match="failed 2 times"):
            agent.act(seen())
        agent.close()


def test_time_that_runs_out_while_the_model_thinks_is_the_agents_limit():
    with ModelServer(lambda _: Slow(60, LS)) as server:
        agent = agent_on(server, caps=Caps(seconds=0.2), max_retries=0)
        with pytest.raises(AgentStopped) as stopped:
            agent.act(seen())
        agent.close()
    assert stopped.value.reason is StopReason.TIME


def test_a_prompt_too_long_for_the_server_is_shortened_until_it_fits():
    with ModelServer(lambda _: LS, context_tokens=3000) as server:
        agent = agent_on(server, context_tokens=100_000)
        for n in range(12):
            assert agent.act(seen(f"result {n}: " + "x y " * 2000)) == "ls"
        agent.close()
    fitting = [r for r in server.requests if r.tokens <= 3000]
    assert len(fitting) == 12 == agent.usage.calls
    assert len(server.requests) > 12
    assert "result 11" in fitting[-1].text
    assert "Predict the weather." in fitting[-1].text


def test_a_context_that_holds_not_even_the_task_is_a_typed_end():
    with ModelServer(lambda _: LS, context_tokens=20) as server:
        agent = agent_on(server)
        with pytest.raises(AgentStopped) as stopped:
            agent.act(seen())
        agent.close()
    assert stopped.value.reason is StopReason.CONTEXT
    assert len(server.requests) < 20


def test_the_history_stays_under_the_stated_context():
    with ModelServer(lambda _: LS) as server:
        agent = agent_on(server, context_tokens=8000, reply_tokens=1000)
        for n in range(30):
            agent.act(seen(f"result {n}: " + "words and more " * 1000))
        agent.close()
    for request in server.requests:
        assert request.tokens + len(json.dumps(request.body["tools"])) // 4 <= 7000


@pytest.mark.parametrize(
    ("caps", "reason"),
    [
        (Caps(calls=2), StopReason.CALLS),
        (Caps(tokens=9000), StopReason.TOKENS),
        (Caps(cost=0.02), StopReason.COST),
    ],
    ids=lambda value: str(value),
)
def test_caps_are_looked_at_before_a_call(caps, reason):
    with ModelServer(lambda _: LS) as server:
        prices = {"scripted": Price(input=2.0, output=8.0)}
        agent = agent_on(server, caps=caps, prices=prices, reply_tokens=500)

        def work():
            for _ in range(50):
                agent.act(seen("some output"))

        with pytest.raises(AgentStopped) as stopped:
            work()
        asked = len(server.requests)
        with pytest.raises(AgentStopped):
            agent.act(seen("some output"))
        agent.close()
    assert stopped.value.reason is reason
    assert 0 < asked == len(server.requests) < 50
    usage = agent.usage
    assert usage.tokens <= (caps.tokens or usage.tokens)
    assert usage.cost <= (caps.cost or usage.cost)
    assert agent.cost == usage.cost > 0


def test_the_last_reply_is_shortened_to_what_is_left():
    with ModelServer(lambda _: LS) as server:
        agent = agent_on(server, caps=Caps(tokens=5000), reply_tokens=4000)
        agent.act(seen())
        agent.close()
    assert server.requests[0].body["max_tokens"] < 4000


def test_a_cost_cap_without_a_price_is_refused():
    with ModelServer(in_order([])) as server, pytest.raises(ResearchError, match="price"):
        agent_on(server, caps=Caps(cost=1.0))


def test_ctrl_c_while_waiting_leaves_the_agent_as_it_was():
    def interrupt(seconds):
        raise KeyboardInterrupt

    with ModelServer(in_order([LS, Fail(500), LS])) as server:
        agent = agent_on(server, backoff=Backoff(sleep=interrupt))
        agent.act(seen("first"))
        before = agent.get_state()["history"]
        with pytest.raises(KeyboardInterrupt):
            agent.act(seen("second"))
        assert agent.get_state()["history"] == before
        assert agent.act(seen("second")) == "ls"
        agent.close()
    assert server.requests[2].body == server.requests[1].body


def test_ctrl_c_in_the_middle_of_an_answer_ends_a_process_at_once():
    program = (
        "import sys; from tests.research.agents.support import *\n"
        "from ludus.research.agents.react import *\n"
        "agent = ReactAgent(ReactConfig(model='m', base_url=sys.argv[1]))\n"
        "try: agent.act(seen())\n"
        "except KeyboardInterrupt: print(agent.get_state()['history']['turns'])\n"
    )
    asked = threading.Event()

    def policy(request):
        asked.set()
        return Slow(600, LS)

    with ModelServer(policy) as server:
        arguments = [sys.executable, "-c", program, server.base_url]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            assert asked.wait(50)
            child.send_signal(2)
            said, _ = child.communicate(timeout=20)
    assert (child.returncode, said) == (0, "[]\n")


def test_an_episode_goes_on_elsewhere_with_the_same_requests():
    script = [LS, Say("no call"), Call("shell", {"command": "pwd"}), LS, LS]

    def bodies(stop):
        with ModelServer(in_order(script)) as server:
            agent = agent_on(server, caps=Caps(tokens=10**6))
            for n in range(4):
                if n == stop:
                    state = json.loads(json.dumps(agent.get_state()))
                    agent.close()
                    agent = agent_on(server, caps=Caps(tokens=10**6))
                    agent.set_state(state)
                agent.act(seen(f"result {n}"))
            agent.close()
            return [request.body for request in server.requests], agent.usage

    assert bodies(stop=2) == bodies(stop=None)


def test_a_new_episode_forgets():
    with ModelServer(lambda _: LS) as server:
        agent = agent_on(server)
        agent.act(seen("one"))
        agent.act(seen("two"))
        agent.reset(seed=3)
        agent.act(seen("three"))
        agent.close()
    assert len(server.requests[-1].messages) == 2
    assert agent.usage.calls == 1


def test_text_that_no_request_can_hold_does_no_harm():
    broken = Raw({"choices": [{"message": {"content": "a\ud800b```\nls\n```\ud800"}}]})
    fenced = Raw({"choices": [{"message": {"content": "a\ud800b\n```\nls\n```\n"}}]})
    with ModelServer(in_order([broken, fenced, Say(FENCED)])) as server:
        agent = agent_on(server, style="text")
        assert agent.act(seen("\ud800 output")) == "ls"
        assert agent.act(seen("\udcff")) == "ls"
        agent.close()


def test_usage_that_a_server_makes_up_is_not_believed():
    made_up = {"prompt_tokens": -5, "completion_tokens": "many", "prompt_tokens_details": []}
    call = {"id": "", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
    body = {"choices": [{"message": {"tool_calls": [call]}}], "usage": made_up}
    with ModelServer(lambda _: Raw(body)) as server:
        agent = agent_on(server)
        agent.act(seen())
        agent.close()
    assert agent.usage.estimated_calls == 1
    assert agent.usage.prompt_tokens > 100
    assert agent.usage.completion_tokens > 0


def test_an_answer_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("ludus.research.agents.client.MAX_ANSWER_BYTES", 10_000)
    with ModelServer(lambda _: Say("x" * 20_000)) as server:
        agent = agent_on(server)
        with pytest.raises(ModelServerError, match="more than 10000 bytes"):
            agent.act(seen())
        agent.close()


def test_options_are_part_of_every_request():
    options = {"temperature": 0.5, "some_servers_own": [1]}
    with ModelServer(lambda _: LS) as server:
        agent = agent_on(server, options=options, limit_field="max_completion_tokens")
        agent.act(seen())
        agent.close()
    body = server.requests[0].body
    assert (body["temperature"], body["some_servers_own"]) == (0.5, [1])
    assert body["max_completion_tokens"] == 4096
    assert "max_tokens" not in body


def test_the_key_is_not_shown():
    with ModelServer(lambda _: LS) as server:
        agent = agent_on(server, api_key="very-secret")
        agent.act(seen())
        agent.close()
    assert server.requests[0].headers["authorization"] == "Bearer very-secret"
    assert "very-secret" not in repr(agent.config) + json.dumps(agent.get_state())


def test_without_openai_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with ModelServer(in_order([])) as server:
        agent = agent_on(server)
        with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[research\]"):
            agent.act(seen())


@pytest.mark.parametrize(
    "wrong",
    [
        {"context_tokens": 4096},
        {"max_malformed": 0},
        {"keep_last": 0},
        {"keep_first": -1},
        {"options": {"max_tokens": 10**6}},
        {"options": {"stream": True}},
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong):
    with ModelServer(in_order([])) as server, pytest.raises(ResearchError):
        agent_on(server, **wrong)


def test_an_answer_that_drips_is_given_up_in_time():
    class Dripping:
        def iter_bytes(self):
            while True:
                yield b" "

    with pytest.raises(client._Passing, match="did not end in time"):
        client._read(Dripping(), time.monotonic() + 0.01)


TEMPLATES = {
    "system": "Commands:\n{command_docs}\nYou have {training_timeout} s. {{id}} {{",
    "task": "{description} ({current_step}+{remaining_steps}) in {working_dir}",
    "next_step": "{observation}|{open_file}|{current_step}|{exit_code}|{validation_score}",
    "next_step_no_output": "silence at {current_step}",
    "malformed": "No: {reason}",
}
SHOWN = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "So."}]


def test_templates_and_demonstrations_make_the_conversation():
    script = [Say("```\nls\n```"), Say("none"), Say("```\ncat a\n```"), Say("```\nsubmit\n```")]
    with ModelServer(in_order(script)) as server:
        agent = agent_on(
            server, style="text", templates=Templates.of(TEMPLATES), demonstrations=SHOWN
        )
        agent.act(seen())
        agent.act(seen("{description}", open_file="a.py"))
        state = agent.get_state()
        again = agent_on(
            server, style="text", templates=Templates.of(TEMPLATES), demonstrations=SHOWN
        )
        again.set_state(state)
        again.act(seen(""))
        agent.close()
        again.close()
        first, last = server.requests[0].messages, server.requests[-1].messages
    assert "search_dir" in first[0]["content"]
    assert first[0]["content"].endswith("You have n/a s. {id} {{")
    assert first[1:3] == SHOWN
    assert first[3]["content"] == "Predict the weather. (0+9) in /workspace"
    said = [message["content"] for message in last[4:]]
    assert said[1] == "{description}|a.py|1|0|n/a"
    assert said[3].startswith("No: the reply has no fenced blocks")
    assert said[5] == "silence at 2"


@pytest.mark.parametrize(
    "wrong", [{"system": "{nothing}"}, {"sistem": ""}, {"task": 3}, "text"], ids=str
)
def test_wrong_templates_are_refused(wrong):
    with pytest.raises(ResearchError, match="template"):
        Templates.of(wrong)


@pytest.mark.parametrize("wrong", ["x", [1], [{"role": "system", "content": ""}]], ids=str)
def test_wrong_demonstrations_are_refused(wrong):
    with pytest.raises(ResearchError, match="demonstrations"):
        checked_demonstrations(wrong)
