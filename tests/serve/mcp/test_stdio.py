"""``ludus mcp`` as a client starts it: one connection, one episode."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import contextmanager, suppress

import mcp
import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from tests.serve.mcp.support import COMMAND, ERAS, TOKEN, client, run, started, text_of

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@contextmanager
def process(*arguments):
    made = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    try:
        yield made
    finally:
        made.kill()
        for pipe in (made.stdin, made.stdout, made.stderr):
            pipe.close()
        made.wait()


@pytest.mark.parametrize("era", ERAS)
def test_one_connection_is_one_episode(era):
    async def work() -> None:
        async with mcp.Client(
            started("CartPole-v1", "--seed", "3", "--rewards"), mode=era
        ) as agent:
            (tool,) = (await agent.list_tools()).tools
            assert tool.input_schema["properties"].keys() == {"action"}
            uris = [one.uri for one in (await agent.list_resources()).resources]
            assert "task://CartPole-v1/picture" in uris
            first = await agent.read_resource("task://CartPole-v1/observation")
            assert json.loads(first.contents[0].text)[0] == pytest.approx(-0.0414, abs=1e-3)
            result = await agent.call_tool("act", {"action": 1})
            assert result.structured_content["reward"] == 1.0
            refused = await agent.call_tool("act", {"action": 1, "episode": "x"})
            assert "takes one argument" in text_of(refused)

    run(work())


def test_only_the_protocol_is_on_standard_output_and_the_end_is_told():
    with process("CartPole-v1", "--operator-port", "0", "--operator-token", TOKEN) as made:
        beside = made.stderr.readline().decode().split()[-1]
        made.stdin.write(json.dumps(HELLO).encode() + b"\n" + b"no json\n")
        made.stdin.flush()
        answer = json.loads(made.stdout.readline())
        assert answer["result"]["protocolVersion"] == "2025-11-25"

        async def work() -> None:
            async with client(beside, ERAS[1], TOKEN) as operator:
                tools = {tool.name for tool in (await operator.list_tools()).tools}
                assert "observe" in tools

        run(work())
        made.stdin.close()
        out, err = made.stdout.read(), made.stderr.read()
        assert made.wait(60) == 0
        assert [json.loads(line) for line in out.splitlines()] == []
        assert b'The episode ended: {"total_reward":0.0,"steps":0}' in err
        assert TOKEN.encode() not in err


def test_a_message_without_end_ends_the_connection():
    with process("CartPole-v1") as made:
        with suppress(BrokenPipeError):
            for _ in range(64):
                made.stdin.write(b"x" * (1 << 20))
            pytest.fail("64 MiB were read")
        assert b"more than" in made.stderr.read()
        assert made.wait(60) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["NoSuchEnv-v1"], "NoSuchEnv"),
        (["research/noSuchTask"], "noSuchTask"),
        (["CartPole-v1", "--host", "0.0.0.0"], "Set a token"),
        (["CartPole-v1", "--operator-port", "0", "--operator-token", "short"], "at least 16"),
        (["CartPole-v1", "--kwarg", "colour"], "NAME=JSON"),
        (["CartPole-v1", "--transport", "stdio"], "Standard input is a file"),
        (["CartPole-v1", "--kwarg", "colour=1"], "colour"),
    ],
)
def test_wrong_usage_is_explained(arguments, said, monkeypatch):
    # Loggers belong to the whole process.
    monkeypatch.setattr("ludus.serve.logs.set_up_logging", lambda *_: None)
    done = CliRunner().invoke(app, ["mcp", "--transport", "http", *arguments])
    assert done.exit_code == 2, done.output
    assert said in done.output


def test_a_signal_ends_the_episode_as_the_client_does():
    with process("CartPole-v1") as made:
        made.stdin.write(json.dumps(HELLO).encode() + b"\n")
        assert b"2025-11-25" in made.stdout.readline()
        made.send_signal(signal.SIGTERM)
        assert b"The episode ended" in made.stderr.read()
        assert made.wait(60) == 0
