"""Submissions that want to carry out what they saw in a test, or more than a score of a validation.

Code that is submitted sees hidden data. It speaks by what it raises and prints, by how it ends, by
what it answers and by how long it takes. None of that may reach the agent after the test, and next
to nothing after a validation.
"""

from __future__ import annotations

import shutil
import time

import pytest

from ludus.research.agents.prompts import observation_prompt
from ludus.research.agents.simple import ScriptedAgent
from ludus.research.grading import Outcome
from ludus.research.grading.refusal import LONGEST, raised_where
from ludus.research.running import job as job_module
from tests.research.env_support import FakeGrade, answer, make, write_task
from tests.research.grading.support import File, MadeTask, boxed
from tests.research.running.support import answers, start
from tests.research.support import SAMPLES

pytestmark = boxed

SECRET = "HIDDEN-7c1f"

# --- the end -----------------------------------------------------------------------------------


@pytest.fixture
def guess(tmp_path):
    folder = tmp_path / "guess"
    shutil.copytree(SAMPLES / "guess_number", folder)
    return folder


ENDS = {
    "raises": f"raise ValueError('{SECRET}')",
    "prints": f"print('{SECRET}' * 100); import os; os._exit(3)",
    "answers": f"return '{SECRET}'",
    "is killed": "import os; os.kill(os.getpid(), 11)",
    "plays": "return (low + high) // 2",
    "names a class": f"raise type('{SECRET}'.replace('-', '_'), (Exception,), {{}})()",
}


def last_observation(task, deed):
    with make(task) as env:
        env.reset(seed=0)
        source = f"def guess(low, high, answers):\n    {deed}\n"
        env.sandbox.write_bytes("guess.py", source.encode())
        observation, *_, info = env.step("submit")
        assert env.render_mode is None
    return observation, info


def test_the_last_observation_is_the_same_whatever_the_test_did(guess):
    seen = {}
    for name, deed in ENDS.items():
        observation, info = last_observation(guess, deed)
        assert info["outcome"] == ("scored" if name == "plays" else "agent_fault")
        seen[name] = {key: value for key, value in observation.items() if key != "seconds_left"}
    assert all(one == seen["plays"] for one in seen.values())
    assert seen["plays"]["output"].endswith("\nThe episode is over (submitted).\n")


class Slowly:
    """Grades slowly, and as it is told."""

    def __init__(self, outcome, seconds=0.0):
        self.outcome, self.seconds = outcome, seconds

    def __call__(self, task, artefacts, split, seed, *, draw):
        time.sleep(self.seconds)
        return self.outcome


OUTCOMES = {
    "scored": Outcome("scored", 1.0),
    "refused": Outcome("agent_fault", reason=SECRET, told=SECRET),
    "broken": Outcome("infrastructure_fault", reason=SECRET),
}


@pytest.mark.parametrize("name", OUTCOMES)
@pytest.mark.parametrize("end", ["submit", "finish", "steps"])
def test_no_outcome_shows_in_the_last_observation(tmp_path, name, end):
    task = write_task(tmp_path / "answers", max_steps=1 if end == "steps" else 20)
    with make(task, grade=Slowly(OUTCOMES[name])) as env:
        env.reset(seed=0)
        step = {"submit": lambda: env.step("submit"), "finish": env.finish}
        observation = step.get(end, lambda: env.step("true"))()[0]
    why = {"submit": "submitted", "finish": "agent"}.get(end, end)
    assert observation["output"].splitlines()[-1] == f"The episode is over ({why})."
    assert SECRET not in repr(observation)


def test_the_clock_of_the_last_observation_stands_still_while_the_test_runs(tmp_path):
    task = write_task(tmp_path / "answers")
    with make(task, grade=Slowly(OUTCOMES["scored"], 0.5), time_limit=1000) as env:
        env.reset(seed=0)
        observation, *_, info = env.step("submit")
    assert info["seconds"] >= 0.5
    left = 1000 - float(observation["seconds_left"])
    assert left <= info["seconds"] - 0.5


def test_a_sandbox_that_is_gone_says_no_more_than_any_other_end(tmp_path):
    with make(write_task(tmp_path / "answers"), grade=FakeGrade()) as env:
        env.reset(seed=0)
        env.sandbox.close("the operator wants it so")
        observation, *_, info = env.step("submit")
    assert (info["outcome"], info["end"]) == ("infrastructure_fault", "box")
    assert observation["output"] == "The episode is over (box).\n"


class Listening(ScriptedAgent):
    """Remembers all that it is ever given."""

    given: list = []

    def __init__(self):
        super().__init__([answer("7"), "submit"])

    def reset(self, seed=None, env=None):
        self.given.append(env)
        super().reset(seed, env)

    def act(self, observation):
        self.given.append(observation)
        return super().act(observation)

    def feedback(self, *words):
        self.given.append(words)


def test_an_agent_of_a_run_gets_observations_before_its_actions_and_nothing_else(
    tmp_path, monkeypatch
):
    grade = Slowly(Outcome("agent_fault", reason=SECRET, told=SECRET))
    monkeypatch.setattr(job_module, "graded_in_sandboxes", lambda policy, backend: grade)
    monkeypatch.setattr(Listening, "given", [])
    done = start(answers(tmp_path), f"me={__file__}:Listening", tmp_path / "run")
    assert done.results[0].outcome == "agent_fault"
    # Run from the file, the class is another one; what it was given is told by its module.
    import sys

    given = sys.modules["ludus_agent_test_silence"].Listening.given
    assert len(given) == 3
    assert SECRET not in repr(given)
    view, *observations = given
    for name in ("step", "reset", "finish", "box", "artefacts", "get_state", "_episode", "close"):
        assert not hasattr(view, name)
    assert all("reward" not in one and "info" not in one for one in observations)
    assert "reward" not in observation_prompt(observations[-1])


# --- a validation that is refused --------------------------------------------------------------

# Hands hidden data to the code, as every grader of code does.
ECHO = """
    def grade(submission, labels, seed, split):
        secret = (labels / "y.txt").read_text()
        code = submission.code("play.py")
        code.call("play", secret, timeout=1.0, returns=int)
        return 1.0
"""
LEAKS = {
    "a message": "raise ValueError(secret * 100)",
    "a class": "raise type('E' + secret.replace('-', '_'), (Exception,), {})(secret)",
    "a class that hides behind another": "raise type('ValueError', (Exception,), {})(secret)",
    "an output": "print(secret); raise SystemExit(secret)",
    "an exit code": "import os; os._exit(sum(map(ord, secret)) % 256)",
    "an answer": "return secret",
    "a long answer": "return secret * 1000",
    "a key": "return {secret: 1}",
    "a number that is none": "return float('nan')",
    "a file that does not exist": "exec(compile('raise KeyError(1)', secret, 'exec'))",
    "a chain": "\\n    try: int(secret)\\n    except ValueError as e: raise KeyError from e",
    "a syntax error": "raise SyntaxError(secret, ('/workspace/play.py', 10**9, 1, secret))",
    "being late": "import time; time.sleep(9)",
}


@pytest.fixture
def echo(tmp_path):
    files = [File("play.py", "code")]
    return MadeTask(tmp_path, ECHO, files, {"validation": {"y.txt": SECRET}})


@pytest.mark.parametrize("name", LEAKS)
def test_a_refused_validation_tells_nothing_that_the_code_chose(echo, name):
    body = LEAKS[name].replace("\\n", "\n")
    outcome = echo.graded(play__py=f"def play(secret):\n    {body}\n")
    assert outcome.kind == "agent_fault", outcome
    assert len(outcome.told) <= LONGEST
    assert "HIDDEN" not in outcome.told
    assert "7c1f" not in outcome.told


def test_a_refused_validation_still_says_where_to_look(echo):
    source = "def play(secret):\n    values = []\n    return values[3]\n"
    told = echo.graded(play__py=source).told
    assert told == (
        "The submitted code raised IndexError in play.py, line 3. Run it on data of your own to "
        "see why."
    )
    assert "line 2" in echo.graded(play__py="x = 1\ndef play(").told
    assert "ModuleNotFoundError in play.py, line 1" in echo.graded(play__py="import nothing").told
    assert "did not answer in time" in echo.graded(play__py="def play(s):\n    while 1: pass").told


@pytest.mark.parametrize(
    ("kind", "path", "line", "told"),
    [
        ("ValueError", "a.py", 3, "raised ValueError in a.py, line 3"),
        ("Secret", "a.py", 3, "raised an exception in a.py, line 3"),
        ("ValueError", "a.py", 4, "raised ValueError in a.py"),
        ("ValueError", "a.py", 0, "raised ValueError in a.py"),
        ("ValueError", "a.py", True, "raised ValueError in a.py"),
        ("ValueError", "secret.py", 3, "raised ValueError"),
        ("print", "a.py", 10**30, "raised an exception in a.py"),
        (7, [], {}, "raised an exception"),
    ],
)
def test_only_words_of_ours_and_true_lines_are_told(kind, path, line, told):
    assert raised_where(kind, path, line, {"a.py": 3}) == told


def test_forged_words_about_an_exception_are_not_believed(echo):
    """The program that describes exceptions is the submission's to change."""
    outcome = echo.graded(
        play__py=f"""
        import ludus.research.grading.inside_code as inside
        from ludus.codec import encode
        inside._described = lambda *a: encode(["{SECRET}", "{SECRET}", "{SECRET}", "{SECRET}", 7])
        def play(secret): raise ValueError
        """
    )
    assert outcome.told.startswith("The submitted code raised an exception. ")


def test_what_an_episode_tells_of_a_refused_validation_is_bounded(guess):
    with make(guess) as env:
        env.reset(seed=0)
        source = f"def guess(low, high, answers):\n    raise ValueError('{SECRET}' * 1000)\n"
        env.sandbox.write_bytes("guess.py", source.encode())
        observation, *_, info = env.step("validate")
        told = observation["output"].splitlines()[-1]
        assert told.startswith("Validation 1 of 3: refused. The submitted code raised ValueError")
        assert len(told) <= LONGEST + 40
        assert SECRET not in repr(observation)
        # The operator sees it all.
        assert SECRET in info["validation"]["reason"]


def test_files_are_described_to_the_agent_that_wrote_them(tmp_path):
    """No submitted code has run, so that nothing hidden can be in the words."""
    with make(write_task(tmp_path / "answers")) as env:
        env.reset(seed=0)
        output = env.step("echo '{\"answer\": NaN}' > answer.json; validate")[0]["output"]
        assert "answer.json is no valid JSON: it holds NaN" in output
        output = env.step("rm answer.json; validate")[0]["output"]
        assert "answer.json is missing" in output
        output = env.step(f"echo '\"{'x' * 900}' > answer.json; validate")[0]["output"]
        assert len(output.splitlines()[-1]) <= LONGEST + 40


# --- what goes on beside the test ----------------------------------------------------------------

SURVIVES = """\
builtin() { case "$1" in kill) return 0;; esac; command builtin "$@"; }
enable -n kill
mkdir -p /tmp/.ludus
(while :; do
    printf '{"file": "%s"}' "$(date +%s%N)" > /tmp/.ludus/o; mv /tmp/.ludus/o /tmp/.ludus/open.json
    sleep .02
done) >/dev/null 2>&1 </dev/null &
"""


def test_nothing_outlives_its_command_whatever_the_shell_was_told(guess):
    """A process that runs on could watch the test, or swap the work under the grader."""
    with make(guess) as env:
        env.reset(seed=0)
        env.step(SURVIVES)
        output = env.step("pgrep -fc '[d]ate|[s]leep .02' || true")[0]["output"]
        assert output.splitlines()[-1] == "0"


# Starts something when the host asks the shell for its aliases.
WAITS = """\
builtin() {
    case "$1" in
        kill) return 0;;
        alias) (while :; do date +%s%N > /workspace/now; sleep .01; done) >/dev/null 2>&1 &
    esac
    command builtin "$@"
}
enable -n kill
"""


def test_nothing_outlives_a_checkpoint(tmp_path):
    """The host's own questions to the shell are commands too, and a test may follow them."""
    with make(write_task(tmp_path / "answers"), grade=FakeGrade()) as env:
        env.reset(seed=0)
        env.step("date > now")
        env.step(WAITS)
        env.get_state()
        before = env.sandbox.read_bytes("now")
        time.sleep(0.2)
        assert env.sandbox.read_bytes("now") == before


def test_the_last_observation_holds_nothing_that_was_written_during_the_test(guess, monkeypatch):
    """Also not if something in the sandbox still writes."""
    with make(guess) as env:
        env.reset(seed=0)
        env.sandbox.write_bytes("guess.py", b"def guess(low, high, answers):\n    return low\n")
        env.step("mkdir -p /tmp/.ludus")
        grade = env._episode.assessor.assess

        def writing(box, split, *count):
            box.write_bytes("/tmp/.ludus/open.json", b'{"file": "HIDDEN"}')
            return grade(box, split, *count)

        monkeypatch.setattr(env._episode.assessor, "assess", writing)
        observation = env.step("submit")[0]
        assert "HIDDEN" not in str(observation)


def test_what_the_test_reads_of_the_hosts_files_is_forgotten(guess):
    """Which pages are in memory would tell a later episode something, without any clock."""
    from ludus.research.grading.sandboxes import Sandboxes

    opened = []
    original = Sandboxes.open_code

    def noting(self, *, forget=False):
        opened.append(forget)
        return original(self, forget=forget)

    with pytest.MonkeyPatch.context() as patch, make(guess) as env:
        patch.setattr(Sandboxes, "open_code", noting)
        env.reset(seed=0)
        env.sandbox.write_bytes("guess.py", b"def guess(low, high, answers):\n    return low\n")
        env.step("validate")
        env.step("submit")
    assert (opened[0], opened[-1]) == (False, True)
