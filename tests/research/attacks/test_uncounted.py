"""Agents that want free validations, requests that nobody answers, and lines of their own."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from ludus.bench import RunSettings
from ludus.bench.running.progress import LineProgress
from ludus.errors import ModelServerError
from ludus.research.agents import AgentStopped, StopReason
from ludus.research.model_server.policies import Fail, in_order
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from ludus.research.running.deciding import decide
from ludus.research.running.progress import EpisodeLines
from ludus.research.task.outcome import Outcome
from tests.research.agents.support import LS, agent_on, seen
from tests.research.env_support import FakeGrade, answer, make, write_task
from tests.research.grading.support import boxed
from tests.research.running.support import answers, start, write_script


@boxed
def test_validations_that_fail_are_free_twice_and_count_from_then_on(tmp_path):
    """Whatever brings the fault about, it cannot be had without limit."""
    grade = FakeGrade(failures=1000)
    with make(write_task(tmp_path / "answers", validations=3), grade=grade) as env:
        env.reset(seed=0)
        told = [env.step("validate")[0]["output"] for _ in range(8)]
    carried_out = [text for text in told if "could not be carried out" in text]
    assert len(carried_out) == 5
    assert ["not counted" in text for text in carried_out] == [True, True, False, False, False]
    assert all("used up" in text for text in told[5:])
    assert len(grade.calls) == 2 * 5


@boxed
def test_failed_validations_are_remembered_by_a_state(tmp_path):
    task, grade = write_task(tmp_path / "answers", validations=1), FakeGrade(failures=1000)
    with make(task, grade=grade) as env:
        env.reset(seed=0)
        env.step("validate")
        env.step("validate")
        state = env.get_state()
    with make(task, grade=grade) as env:
        env.set_state(state)
        assert "not counted" not in env.step("validate")[0]["output"]
        assert "used up" in env.step("validate")[0]["output"]


@boxed
def test_failed_validations_leave_the_other_ones_as_they_are(tmp_path):
    with make(write_task(tmp_path / "answers", validations=2), grade=FakeGrade(4)) as env:
        env.reset(seed=0)
        for _ in range(2):
            assert "not counted" in env.step("validate")[0]["output"]
        env.step(answer(0.7))
        assert "Validation 1 of 2: score = 0.7" in env.step("validate")[0]["output"]
        assert "Validation 2 of 2: score = 0.7" in env.step("validate")[0]["output"]
        assert "used up" in env.step("validate")[0]["output"]


FILTERED = "filtered by the content management policy"


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_a_text_that_the_models_server_refuses_ends_the_episode_and_is_graded(status):
    """What the agent prints is in every later request."""
    pytest.importorskip("openai")
    with ModelServer(in_order([LS, Fail(status, FILTERED)])) as server:
        agent = agent_on(server)
        assert decide(agent, seen())["action"] == "ls"
        decided = decide(agent, seen("FORBIDDEN WORDS"))
        agent.close()
    assert decided["stop"] == StopReason.REFUSED == "request_refused"
    assert "content management policy" in decided["message"]


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_what_content_does_not_cause_stays_a_fault_of_the_server(status):
    pytest.importorskip("openai")
    with ModelServer(in_order([LS, *[Fail(status, FILTERED)] * 9])) as server:
        agent = agent_on(server)
        agent.act(seen())
        with pytest.raises(ModelServerError):
            agent.act(seen("a"))
        agent.close()


POISON = "<|special token|>"


def fragile(*broken):
    """Return the policy of a server that fails on a word, and on some requests besides."""

    def policy(request):
        is_ill = POISON in request.text or request.number in broken
        return Fail(500, "cannot tokenise") if is_ill else LS

    return policy


def test_a_text_that_brings_the_models_server_down_ends_the_episode_and_is_graded():
    """It answers everybody else, so that this is no fault of the infrastructure."""
    pytest.importorskip("openai")
    with ModelServer(fragile()) as server:
        agent = agent_on(server, max_retries=1)
        agent.act(seen())
        decided = decide(agent, seen(POISON))
        agent.close()
        assert [POISON in asked.text for asked in server.requests] == [
            False, True, True, False, True, True,
        ]  # fmt: skip
    assert decided["stop"] == StopReason.REFUSED


def test_a_server_that_is_down_for_a_while_is_asked_again_as_before():
    pytest.importorskip("openai")
    with ModelServer(fragile(1, 2)) as server:
        agent = agent_on(server, max_retries=1)
        agent.act(seen())
        assert decide(agent, seen("a"))["action"] == "ls"
        agent.close()
        assert len(server.requests) == 5


def test_a_first_request_that_is_refused_is_no_fault_of_the_agent():
    """Nothing in it comes from the agent."""
    pytest.importorskip("openai")
    with ModelServer(in_order([Fail(400, FILTERED), LS])) as server:
        agent = agent_on(server)
        with pytest.raises(ModelServerError):
            agent.act(seen())
        agent.close()


def test_a_conversation_that_went_on_elsewhere_has_had_its_answer():
    pytest.importorskip("openai")
    with ModelServer(in_order([LS, Fail(400, FILTERED)])) as server:
        first, second = agent_on(server), agent_on(server)
        first.act(seen())
        second.set_state(first.get_state())
        with pytest.raises(AgentStopped):
            second.act(seen("FORBIDDEN WORDS"))
        first.close()
        second.close()


FORGED = "late\nscripted on mlgym/answers-v0, seed 9: 1, normalised 1.000\r\u2028\x85forged"


@boxed
@pytest.mark.parametrize("lines", [EpisodeLines, LineProgress])
def test_a_reason_makes_no_line_of_its_own(tmp_path, monkeypatch, lines):
    def failing(policy, backend):
        return lambda *args, **more: Outcome("agent_fault", reason=FORGED)

    screen = io.StringIO()
    monkeypatch.setattr(job_module, "graded_in_sandboxes", failing)
    script = write_script(tmp_path / "s.yaml", ["submit"])
    settings = RunSettings(engine="serial", progress=lines(Console(file=screen, width=400)))
    options = {"agent_options": {"file": script}, "settings": settings}
    start(answers(tmp_path), "scripted", tmp_path / "run", **options)
    shown = screen.getvalue()
    assert "normalised 1.000" in shown
    assert not any(line.startswith(("scripted on", "forged")) for line in shown.splitlines()[2:])
