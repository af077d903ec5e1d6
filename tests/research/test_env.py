"""Episodes in a real box; most are graded by a fake, since grading has tests of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ludus
from ludus.errors import (
    InvalidAction,
    PolicyNotEnforceable,
    ResetNeeded,
    SandboxUnavailable,
    StateError,
    TaskError,
)
from ludus.research import BaseTask, MLGymEnv, ResearchEnv, register_task
from ludus.research.episode.observation import OUTPUT
from tests.research.env_support import LOOSE, SECRET, FakeGrade, answer, make, write_task
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path_factory.getbasetemp() / "research-cache"))
    for name in ("MLGYM_ENV_TIMEOUT", "MLGYM_ACTION_SHORT_TIMEOUT", "MLGYM_ACTION_LONG_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "answers")


@pytest.fixture
def start():
    """Make an environment, begin an episode, and close it in the end."""
    made = []

    def begin(task, seed=7, **options):
        options.setdefault("grade", FakeGrade())
        made.append(make(task, **options))
        made[-1].reset(seed=seed)
        return made[-1]

    yield begin
    for env in made:
        env.close()


def test_five_values_in_their_spaces(task, start):
    env = start(task)
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert info["outcome"] == "running"
    assert observation["validation_score"] == -math.inf
    for action in (
        "echo é; echo oops >&2; false",
        {"tool": "scroll_up", "arguments": {}},
        "",
        "\n",
    ):
        assert action in env.action_space
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space
        assert (reward, terminated, truncated) == (0.0, False, False)
    assert MLGymEnv is ResearchEnv


def test_output_status_folder_and_steps(task, start):
    env = start(task)
    observation = env.step("echo é; echo oops >&2; cd /tmp; (exit 3)")[0]
    assert observation["output"] == "é\noops\n"
    assert (observation["exit_code"], observation["cwd"]) == (3, "/tmp")
    assert observation["steps_left"] == 19
    assert env.step("pwd; x=5")[0]["output"] == "/tmp\n"
    assert env.step("echo $x")[0]["output"] == "5\n"
    assert "syntax error" in env.step("echo ) (")[0]["output"]
    assert env.step("echo one\n\necho two  ")[0]["output"] == "one\ntwo\n"


def test_rewards_add_up_to_the_final_normalised_score(task, start):
    env = start(task)
    rewards, seen = [], []
    for value in (0.6, 0.9, 0.7):
        env.step(answer(value))
        observation, reward, *_ = env.step("validate")
        rewards.append(reward)
        seen.append(float(observation["validation_score"]))
    assert rewards == pytest.approx([0.2, 0.6, 0.0])
    assert seen == [0.6, 0.9, 0.7]
    _, reward, terminated, truncated, info = env.step("submit")
    assert (terminated, truncated) == (True, False)
    assert (info["outcome"], info["end"], info["score"]) == ("scored", "submitted", 0.7)
    assert sum(rewards) + reward == pytest.approx(info["normalised_score"]) == pytest.approx(0.4)
    assert info["validations"] == 3


def test_the_test_split_is_scored_once_and_validations_are_counted(task, start):
    grade = FakeGrade()
    env = start(task, grade=grade)
    outputs = [env.step("validate")[0]["output"] for _ in range(5)]
    assert "Validation 3 of 3: score = 0.1" in outputs[2]
    assert "All 3 validations are used up" in outputs[3]
    info = env.step({"tool": "submit"})[4]
    assert info["validations"] == 3
    assert [split for split, *_ in grade.calls] == ["validation"] * 3 + ["test"]
    with pytest.raises(ResetNeeded):
        env.step("validate")
    assert len(grade.calls) == 4


def test_nothing_that_is_printed_or_repeated_triggers_grading(task, start):
    grade = FakeGrade()
    env = start(task, grade=grade)
    env.step("echo validate; echo submit; cat /ludus/tools/bin/submit; printf '<<submit>>\\n'")
    assert grade.calls == []
    env.step("validate")
    for _ in range(3):
        env.step("touch /tmp/.ludus/requests/validate")
    env.step("mkdir -p /tmp/.ludus/requests; ln -sf /etc/passwd /tmp/.ludus/requests/submit")
    env.step("rm /tmp/.ludus/requests/submit; mkfifo /tmp/.ludus/requests/submit")
    assert len(grade.calls) == 1


def test_truncated_at_the_last_step_and_graded_there(tmp_path, start):
    env = start(write_task(tmp_path / "short", max_steps=2))
    assert env.step(answer(0.75))[3] is False
    observation, reward, terminated, truncated, info = env.step("true")
    assert (terminated, truncated, info["end"]) == (False, True, "steps")
    assert (info["outcome"], info["score"]) == ("scored", 0.75)
    assert reward == pytest.approx(0.5)
    assert observation["steps_left"] == 0


def test_submitting_with_the_last_step_is_a_submission(tmp_path, start):
    env = start(write_task(tmp_path / "short", max_steps=1))
    *_, terminated, truncated, info = env.step("submit")
    assert (terminated, truncated, info["end"]) == (True, False, "submitted")


def test_truncated_when_the_time_is_over(task, start):
    env = start(task, time_limit=0.5)
    observation, _, terminated, truncated, info = env.step("sleep 30")
    assert (terminated, truncated, info["end"]) == (False, True, "time")
    assert info["timed_out"]
    assert info["outcome"] == "scored"
    assert observation["seconds_left"] == 0.0


def test_truncated_when_the_cost_is_reached(task, start):
    env = start(task, cost_limit=1.0)
    env.add_cost(0.6)
    assert env.step("true")[3] is False
    env.add_cost(0.6)
    *_, truncated, info = env.step("true")
    assert (truncated, info["end"], info["cost"]) == (True, "cost", 1.2)


def test_a_caller_can_cut_an_episode_off(task, start):
    env = start(task)
    env.step(answer(1.0))
    observation, reward, terminated, truncated, info = env.finish()
    assert observation in env.observation_space
    assert (reward, terminated, truncated) == (1.0, False, True)
    assert (info["end"], info["steps"]) == ("agent", 1)
    with pytest.raises(ValueError, match="submitted"):
        env.finish("submitted")


def test_a_submission_that_is_refused_is_the_agents_fault(task, start):
    env = start(task)
    observation, reward, *_, info = env.step("echo nonsense > answer.json; validate")
    assert "refused" in observation["output"]
    assert (info["validation"]["outcome"], info["validations"], reward) == ("agent_fault", 1, 0.0)
    _, reward, terminated, _, info = env.step("rm answer.json; submit")
    assert terminated
    assert (info["outcome"], info["score"]) == ("agent_fault", None)
    assert "answer.json" in info["reason"]
    assert reward == info["normalised_score"] == -1.0


def test_a_link_is_not_followed_out_of_the_workspace(task, start):
    env = start(task)
    assert env.step("ln -sf /etc/passwd answer.json; submit")[4]["outcome"] == "agent_fault"


def test_faults_of_grading_are_tried_again_and_never_scores(task, start):
    grade = FakeGrade(failures=1)
    env = start(task, grade=grade)
    assert env.step("validate")[4]["validation"]["outcome"] == "scored"
    grade.failures = 2
    observation, reward, *_, info = env.step("validate")
    assert info["validation"]["outcome"] == "infrastructure_fault"
    assert (info["validations"], reward) == (1, 0.0)
    assert "burns" not in observation["output"]
    grade.failures = 2
    _, reward, terminated, _, info = env.step("submit")
    assert terminated
    assert (info["outcome"], info["score"], info["normalised_score"]) == (
        "infrastructure_fault",
        None,
        None,
    )
    assert reward == 0.0
    assert "burns" in info["reason"]


def test_a_box_that_dies_is_no_score(task, start):
    env = start(task)
    env.sandbox.close()
    observation, reward, terminated, truncated, info = env.step("ls")
    assert observation in env.observation_space
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["outcome"], info["score"]) == ("infrastructure_fault", None)
    with pytest.raises(ResetNeeded):
        env.step("ls")
    assert env.reset()[1]["outcome"] == "running"


def test_a_full_disk_and_a_lost_shell_are_the_agents_own_affair(task, start):
    env = start(task)
    env.step("head -c 1G /dev/zero > fill; head -c 1G /dev/zero > /tmp/fill")
    assert "No space left" in env.step("validate")[0]["output"]
    assert "lost" in env.step("exit 4")[0]["output"]
    assert env.step("kill -9 $$; echo still")[4]["outcome"] == "running"
    info = env.step("rm /tmp/fill; submit")[4]
    assert (info["outcome"], info["score"]) == ("scored", 0.1)


def test_nothing_outlives_a_command(task, start):
    env = start(task)
    env.step("(sleep 0.2; echo late > late) & setsid nohup sh -c 'sleep 0.2; echo x > late' &")
    assert env.step("sleep 0.4; ls late")[0]["exit_code"] != 0


def test_commands_and_tools_have_time_limits_of_their_own(task, start, monkeypatch):
    monkeypatch.setenv("MLGYM_ACTION_LONG_TIMEOUT", "0.3")
    monkeypatch.setenv("MLGYM_ENV_TIMEOUT", "77")
    env = start(task)
    observation, *_, info = env.step("echo begun; sleep 20; echo never")
    assert observation["output"].startswith("begun\n[The command was stopped")
    assert info["timed_out"]
    assert observation["exit_code"] == 137
    assert 0 < observation["seconds_left"] < 77
    monkeypatch.setenv("MLGYM_ACTION_LONG_TIMEOUT", "20")
    monkeypatch.setenv("MLGYM_ACTION_SHORT_TIMEOUT", "0.3")
    env = start(task)
    env.step("open() { sleep 20; }")
    assert env.step({"tool": "open", "arguments": {"path": "x"}})[4]["timed_out"]
    assert not env.step("sleep 0.5")[4]["timed_out"]


def test_long_output_is_cut_in_the_middle(task, start):
    output = start(task).step("seq 1 100000")[0]["output"]
    assert len(output) < OUTPUT + 100
    assert output.startswith("1\n2\n")
    assert output.endswith("100000\n")
    assert "bytes left out here" in output


def test_the_seed_reaches_data_and_graders_and_data_is_made_once(task, start, tmp_path):
    grade = FakeGrade()
    env = start(task, seed=1, grade=grade)
    read = "cat train.csv"
    first = env.step(read)[0]["output"]
    env.reset(seed=2)
    assert env.step(read)[0]["output"] != first
    _, info = env.reset(seed=1)
    assert info["seed"] == 1
    assert env.step(read)[0]["output"] == first
    assert env.reset()[1]["seed"] == 1
    assert (tmp_path / "count").read_text() == "xx"
    env.step("submit")
    assert grade.calls == [("test", 1, "test")]


def test_an_episode_leaves_nothing_to_the_next(task, start):
    env = start(task)
    fresh = env.step("ls -A . /tmp")[0]["output"]  # below /tmp there may be the Python of the tests
    assert fresh.startswith(".:\nanswer.json\ntrain.csv\n\n/tmp:\n")
    env.step("echo x > left; echo y > /tmp/left; memory_write hello; open answer.json")
    observation, _ = env.reset()
    assert observation["open_file"] == ""
    assert env.step("ls -A . /tmp")[0]["output"] == fresh
    assert "no notes" in env.step("memory_read")[0]["output"]


def test_half_a_character_as_the_open_file_reaches_no_observation(task, start):
    """It can be written in JSON, but in no record and no request to a model."""
    env = start(task)
    told = r'{"file": "a\ud800b"}'
    observation = env.step(f"mkdir -p /tmp/.ludus; echo '{told}' > /tmp/.ludus/open.json")[0]
    assert observation["open_file"] == "a?b"


def test_labels_and_graders_cannot_be_found(task, start):
    env = start(task)
    hunt = f"grep -rlsa -e {SECRET} / --exclude-dir=proc --exclude-dir=usr --exclude-dir=sys"
    said = env.step(f"timeout 15 {hunt} --exclude-dir=.venv --exclude-dir=versions; echo over")
    assert said[0]["output"] == "over\n"
    assert env.step(f"ls {task}")[0]["exit_code"] != 0
    assert env.step("ls -d /ludus/tools/../data /root/.cache")[0]["exit_code"] != 0
    assert env.step("echo x > /ludus/tools/bin/submit")[0]["exit_code"] != 0


def test_tools_as_commands_and_as_calls(task, start):
    env = start(task)
    env.step("create main.py <<'EOF'\ndef f():\n    return 1\nEOF")
    observation = env.step({"tool": "edit", "arguments": {"lines": "2:2", "text": "    return 2"}})[
        0
    ]
    assert observation["open_file"] == "/workspace/main.py"
    assert observation["exit_code"] == 0
    refused = env.step("edit 2:2 <<'EOF'\n    return (\nEOF")[0]
    assert refused["exit_code"] == 1
    assert env.step("python -c 'import main; print(main.f())'")[0]["output"] == "2\n"
    wrong = env.step({"tool": "edti", "arguments": {}})[0]
    assert (wrong["exit_code"], "Did you mean 'edit'" in wrong["output"]) == (2, True)
    shell = env.step({"tool": "shell", "arguments": {"command": "echo hi"}})[0]
    assert shell["output"] == "hi\n"
    env.step("echo 'raise SystemExit(9)' | tee json.py pathlib.py re.py >/dev/null")
    assert env.step("goto 1")[0]["exit_code"] == 0


def test_actions_of_another_form_are_refused_before_anything_is_done(task, start):
    env = start(task)
    for action in (
        3,
        None,
        ["ls"],
        {"tool": 3},
        {"name": "open"},
        {"tool": "open", "arguments": 1},
    ):
        assert action not in env.action_space
        with pytest.raises(InvalidAction, match="text for the shell"):
            env.step(action)
    assert env.step("true")[0]["steps_left"] == 19
    for text in ("a\0b", "\ud800", "x" * (1 << 21)):
        observation = env.step(text)[0]
        assert observation["exit_code"] == 2
        assert observation in env.observation_space


def test_samples_are_actions_and_repeat_with_their_seed(task, start):
    env = start(task)
    env.action_space.seed(3)
    drawn = [env.action_space.sample() for _ in range(20)]
    env.action_space.seed(3)
    assert drawn == [env.action_space.sample() for _ in range(20)]
    assert all(action in env.action_space for action in drawn)


def test_a_state_is_plain_and_continues_elsewhere(task, start):
    env = start(task, grade=FakeGrade())
    env.step(f"{answer(0.8)}; mkdir sub; cd sub; export X='a b'; ln -s /etc/passwd link")
    env.step("chmod +x /workspace/answer.json; memory_write kept; open ../answer.json")
    env.step("validate")
    state = env.get_state()
    env.step(answer(0.0))
    other = start(task, seed=99)
    other.set_state(ludus.core.state.copy_plain(state))
    observation, reward, *_ = other.step('echo "$X"; ls -l ..; readlink link; memory_read')
    lines = observation["output"].splitlines()
    assert lines[0] == "a b"
    assert any(line.startswith("-rwx") and line.endswith("answer.json") for line in lines)
    assert lines[-2:] == ["/etc/passwd", "1. kept"]
    assert (observation["cwd"], observation["open_file"]) == (
        "/workspace/sub",
        "/workspace/answer.json",
    )
    assert (observation["validation_score"], observation["steps_left"], reward) == (0.8, 16, 0.0)
    _, reward, terminated, _, info = other.step("submit")
    assert terminated
    assert (info["score"], info["validations"]) == (0.8, 1)
    assert reward == pytest.approx(0.0)
    env.set_state(state)
    assert env.step("cat ../answer.json")[0]["output"] == '{"answer": 0.8}\n'


def test_a_state_of_another_task_or_with_other_names_is_refused(task, start, tmp_path):
    env = start(task)
    state = env.get_state()
    other = start(write_task(tmp_path / "other", max_steps=3))
    with pytest.raises(StateError, match="not of task"):
        other.set_state(state)
    fields = state["fields"]["episode"]
    good = fields["workspace"]
    fields["workspace"] = good.replace(b'"train.csv"', b'"../escape"')
    with pytest.raises(StateError, match="escape"):
        env.set_state(state)
    fields["workspace"] = good[:-3]
    with pytest.raises(StateError):
        env.set_state(state)
    assert env.step("ls")[0]["output"] == "answer.json\ntrain.csv\n"


def test_the_terminal_as_text_drives_no_terminal(task, start):
    env = start(task, render_mode="ansi")
    env.step("cd /tmp")
    env.step("printf '\\033[2Jred\\007'")
    assert env.render() == (
        "/workspace $ cd /tmp\n/tmp $ printf '\\033[2Jred\\007'\n\\x1b[2Jred\\x07\n"
    )


def test_made_by_id_with_a_class_of_its_own(task):
    class Generous(BaseTask):
        def get_reward(self, history):
            return 10.0 * len(history)

        def reset(self, seed=None):
            super().reset(seed)
            return {"greeting": f"hello {seed}"}

    register_task("generous", Generous, max_steps=2, folder=task)
    options = {"grade": FakeGrade(), "policy": LOOSE}
    try:
        with ludus.make("mlgym/generous-v0", **options) as env:
            assert isinstance(env.unwrapped, ResearchEnv)
            observation, _ = env.reset(seed=5)
            assert observation["greeting"] == "hello 5"
            assert observation in env.observation_space
            assert env.step("true")[1] == 10.0
            _, reward, terminated, truncated, _ = env.step("true")
            assert (reward, terminated, truncated) == (20.0, False, True)
    finally:
        ludus.registry.pop("mlgym/generous-v0", None)


def test_refusals_name_the_reason(tmp_path, task):
    with pytest.raises(PolicyNotEnforceable, match="gpus=0"):
        make(write_task(tmp_path / "gpu", gpu=1))
    make(tmp_path / "gpu", gpus=0).close()
    with pytest.raises(SandboxUnavailable, match="isolates nothing"):
        ResearchEnv(task, backend="process")
    with pytest.raises(ValueError, match="no field"):
        make(task, policy={"memroy": 1})
    with pytest.raises(ValueError, match="max_steps"):
        make(task, max_steps=0)
    with pytest.raises(TaskError, match="no_such_module"):
        make(task, task_class="no_such_module:X")
    env = make(task)
    with pytest.raises(ResetNeeded):
        env.step("ls")
    env.close()


def test_data_that_fails_is_a_task_error_and_leaves_nothing_half_made(task, start):
    (task / "data.py").write_text("def build(folder, seed):\n    raise OSError('no disk')\n")
    env = make(task)
    for _ in range(2):
        with pytest.raises(TaskError, match="no disk"):
            env.reset(seed=1)
    env.close()


@pytest.mark.skipif("os.geteuid() != 0", reason="memory is limited by root only")
def test_memory_is_held_to_the_tasks_resources(task, start):
    env = start(task)
    observation, *_, info = env.step("python -c 'x = bytearray(1 << 30)'; echo $?")
    assert "memory was full" in observation["output"]
    assert info["outcome"] == "running"


def test_graded_in_boxes_end_to_end(task, start):
    env = start(task, grade=None, seed=3)
    observation, reward, *_, info = env.step(f"{answer(0.75)}; validate")
    assert info["validation"]["details"]["labels"].startswith(f"{SECRET} validation 3 ")
    assert SECRET not in observation["output"]
    assert reward == pytest.approx(0.5)
    _, reward, terminated, _, info = env.step("submit")
    assert terminated
    assert (info["outcome"], info["score"]) == ("scored", 0.75)
    assert (info["final"]["details"]["seed"], info["final"]["details"]["split"]) == (3, "test")
    assert reward == pytest.approx(0.0)
    assert env.artefacts == {"answer.json": b'{"answer": 0.75}\n'}


def test_lower_is_better_begins_infinitely_bad(tmp_path, start):
    folder = write_task(tmp_path / "lower")
    text = (folder / "task.yaml").read_text().replace("direction: higher", "direction: lower")
    text = text.replace("threshold: 1.0", "threshold: 0.1").replace("floor: 0.0", "floor: 2.0")
    (folder / "task.yaml").write_text(text)
    env = start(folder)
    assert env.step("true")[0]["validation_score"] == np.inf
    assert env.step("validate")[1] == pytest.approx(1.0)


def test_what_packages_install_is_covered_where_the_task_hides_it(task, start):
    text = (task / "task.yaml").read_text()
    hidden = "hidden: ['numpy:testing', /usr/share/doc, /usr/lib/os-release, /nowhere]"
    (task / "task.yaml").write_text(f"{text}packages: [numpy, ludus]\n{hidden}\n")
    env = start(task)
    look = "python -c 'import numpy; print(numpy.__path__[0])'"
    assert env.step(f"ls -A $({look})/testing /usr/share/doc | grep -v :")[0]["output"] == "\n"
    assert env.step("cat /usr/lib/os-release")[0]["output"] == ""
    where = env.step("python -c 'import ludus; print(ludus.__path__[0])'")[0]["output"].strip()
    assert env.step(f"ls -A {where}/research/tasks")[0]["output"] == ""
    assert env.step(f"ls {where}/research/episode/env.py")[0]["exit_code"] == 0
