"""MLGym's document, section by section, with its code."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import ludus
from ludus.bench import RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.cli.app import app
from ludus.errors import PolicyNotEnforceable, ResearchError, TaskError
from ludus.record import read_run
from ludus.research import (
    BaseTask,
    MLGymEnv,
    TaskConfig,
    load_task,
    parse_agent,
    register_task,
    run_research,
)
from ludus.research.agents.client import ModelClient
from ludus.research.running import EpisodeOptions
from ludus.research.running.verification import verify_episode, verify_research_run
from tests.research.env_support import LOOSE, answer, write_task
from tests.research.support import DOCUMENTED

BOX = {"backend": "bubblewrap", "policy": LOOSE}

ENV_ID = "mlgym/image_classification_cifar10-v0"
LABELS = {"validation": "id,label\n1,3\n2,4\n", "test": "id,label\n3,5\n4,6\n5,7\n6,8\n"}
GOOD = "id,label\n1,3\n2,4\n3,5\n4,6\n5,7\n6,8\n"

TASKS = '''\
from mlgym.environment.registration import register_task
from mlgym.environment.tasks import BaseTask


class CountingTask(BaseTask):
    """Count to three."""

    def __init__(self, config):
        self.config = config

    def reset(self):
        self.count = 0
        return {"feedback": "begin", "state": [0]}

    def step(self, action):
        self.count += 1
        result = action == "count"
        return f"{self.count} so far", self.get_reward(action, result), self.is_done(), {"mine": 1}

    def get_reward(self, action, result):
        return 0.5 if result else 0.0

    def is_done(self):
        return self.count >= 3


register_task(
    id="counting",
    entry_point="counting_tasks:CountingTask",
    max_steps=50,
    description="Count to three.",
)
'''


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """Keep the registry, the folder and the variables of one test from the others."""
    known = dict(ludus.registry)
    for name in [one for one in os.environ if one.startswith("MLGYM_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("LUDUS_LOG", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    ludus.registry.clear()
    ludus.registry.update(known)


def write_example(folder, text=DOCUMENTED):
    """Write the document's DOCUMENTED with data beside it, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "image_classification_cifar10.yaml"
    file.write_text(text)
    for split, labels in LABELS.items():
        (folder / file.stem / split).mkdir(parents=True)
        (folder / file.stem / split / "labels.csv").write_text(labels)
    (folder / file.stem / "workspace").mkdir()
    return file


def hand_in(text):
    return f"cat > submission.csv <<'END'\n{text}END"


class TestMLGymEnv:
    """``MLGymEnv(task_config, ...)``: a path, a dict or an object."""

    @pytest.mark.parametrize("form", ["path", "text", "dict", "object"])
    def test_forms_of_a_configuration(self, form, tmp_path):
        file = write_example(tmp_path / "configs" / "tasks")
        config = load_task(file).config
        given = {
            "path": file,
            "text": str(file),
            "dict": {**config.model_dump(), "resources": {"gpu": 0}},
            "object": TaskConfig(**config.model_dump()),
        }[form]
        with MLGymEnv(task_config=given, gpus=0, **BOX) as env:
            observation, _ = env.reset()
            assert observation in env.observation_space
            assert "submission.csv with the columns id,label" in observation["task"]
            env.step(hand_in(GOOD))
            *_, info = env.step("submit")
        assert (info["outcome"], info["score"]) == ("scored", 1.0)

    def test_wrong_ones_are_explained(self):
        with pytest.raises(TypeError, match="one task"):
            MLGymEnv()
        with pytest.raises(TaskError, match="evaluation: this field is required"):
            MLGymEnv({"id": "a", "name": "b", "description": "c"})


class TestSpaces:
    def test_the_action_space_lists_its_tools(self, tmp_path):
        with MLGymEnv(write_task(tmp_path / "answers"), **BOX) as env:
            space = env.action_space
            assert {"shell", "open", "validate", "submit"} <= set(space.tools)
            assert all(name in repr(space) for name in space.tools)
            assert space.contains({"tool": "open", "arguments": {"path": "a"}})
            assert not space.contains({"tool": "hack", "arguments": {}})
            env.reset()
            observation, *_ = env.step({"tool": "hack", "arguments": {}})
            assert "There is no tool 'hack'" in observation["output"]


class TestTasks:
    """``BaseTask`` with the printed signatures, and ``register_task`` as printed."""

    @pytest.fixture
    def counting(self, tmp_path, monkeypatch):
        source = TASKS.replace("from mlgym.environment", "from ludus.interop.mlgym.environment")
        (tmp_path / "counting_tasks.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "counting_tasks", raising=False)
        __import__("counting_tasks")

    def test_a_class_alone(self, counting):
        with ludus.make("mlgym/counting-v0", **BOX) as env:
            observation, _ = env.reset(seed=0)
            assert observation["feedback"] == "begin"
            assert observation["output"] == "feedback: begin\nstate: [0]\n"
            for number, action in enumerate(["count", "wait", "count"], 1):
                observation, reward, terminated, truncated, info = env.step(action)
                assert observation["output"] == f"{number} so far"
                assert reward == 0.5 * (action == "count")
                assert (terminated, truncated) == (number == 3, False)
        assert (info["outcome"], info["score"], info["end"]) == ("scored", 1.0, "done")
        assert info["mine"] == 1

    def test_the_runner_and_the_record(self, counting, tmp_path):
        (tmp_path / "acts.yaml").write_text(json.dumps(["count"] * 9))
        agent = parse_agent("scripted", {"file": str(tmp_path / "acts.yaml")})
        options = EpisodeOptions(backend="bubblewrap", unlimited=bool(LOOSE))
        done = run_research(
            ["counting"], [agent], out="run", runs=1, options=options,
            settings=RunSettings(engine="serial"),
        )  # fmt: skip
        (result,) = done.results
        assert (result.outcome, result.score, result.steps) == ("scored", 1.5, 3)
        record = done.folder / result.record
        steps = [event.data for event in read_run(record).events if event.kind == "step"]
        assert [step["output"] for step in steps] == ["1 so far", "2 so far", "3 so far"]
        assert not any(one.status == "failed" for one in verify_episode(record).checks)

    def test_max_steps_and_wrong_returns(self):
        class Endless(BaseTask):
            def step(self, action):
                return "on", 0.0, False, {}

        class Wrong(BaseTask):
            def step(self, action):
                return "on"

        register_task("endless", Endless, max_steps=2)
        with ludus.make("mlgym/endless-v0", **BOX) as env:
            env.reset(seed=0)
            assert env.step("a")[2:4] == (False, False)
            assert env.step("a")[2:4] == (False, True)
        register_task("wrong", Wrong)
        with ludus.make("mlgym/wrong-v0", **BOX) as env:
            env.reset(seed=0)
            with pytest.raises(TaskError, match=r"expected \(observation, reward, done, info\)"):
                env.step("a")

    def test_its_own_end_is_graded(self, tmp_path):
        class Early(BaseTask):
            def is_done(self):
                return len(self.history) >= 2

        register_task("early", Early, folder=write_task(tmp_path / "answers"))
        with ludus.make("mlgym/early-v0", **BOX) as env:
            env.reset(seed=0)
            rewards = [env.step("true")[1]]
            _, reward, terminated, _, info = env.step(answer(0.75))
        assert (terminated, info["outcome"], info["score"]) == (True, "scored", 0.75)
        assert sum([*rewards, reward]) == info["normalised_score"] == 0.5

    def test_the_printed_registration(self):
        register_task(
            id="image_classification_cifar10",
            entry_point="mlgym.environment.tasks:ImageClassificationCIFAR10Task",
            max_steps=50,
            description="Image classification task using CIFAR-10 dataset",
        )
        with ludus.make(ENV_ID, **BOX) as env:
            task = env.unwrapped.task
        assert (task.config.max_steps, task.has_grader) == (50, True)
        assert task.config.description == "Image classification task using CIFAR-10 dataset"


class TestConfiguration:
    """The DOCUMENTED example as it is printed."""

    def test_the_gpu_is_a_choice(self, tmp_path, monkeypatch):
        write_example(tmp_path / "configs" / "tasks")
        with pytest.raises(PolicyNotEnforceable, match=r"--gpus 0.*MLGYM_GPUS=0"):
            ludus.make(ENV_ID)
        monkeypatch.setenv("MLGYM_GPUS", "0")
        ludus.make(ENV_ID, **BOX).close()

    @pytest.mark.parametrize(
        ("given", "outcome", "score"),
        [
            (GOOD, "scored", 1.0),
            (GOOD.replace("6,8", "6,9"), "scored", 0.75),
            (GOOD.replace("6,8\n", ""), "agent_fault", None),
            (GOOD + "6,8\n", "agent_fault", None),
            ("id,label\n", "agent_fault", None),
        ],
    )
    def test_from_end_to_end(self, tmp_path, given, outcome, score):
        write_example(tmp_path / "configs" / "tasks")
        with ludus.make(ENV_ID, gpus=0, **BOX) as env:
            env.reset(seed=0)
            assert "No such file" in env.step(f"ls {tmp_path}/configs")[0]["output"]
            env.step(hand_in(given))
            assert env.step("validate")[-1]["validation"]["outcome"] == (
                "scored" if len(given) > 20 and given.count("6,8") < 2 else "agent_fault"
            )
            *_, info = env.step("submit")
        assert (info["outcome"], info["score"]) == (outcome, score)

    def test_what_is_missing_is_said(self, tmp_path):
        file = tmp_path / "alone.yaml"
        file.write_text(DOCUMENTED)
        (tmp_path / "alone" / "workspace").mkdir(parents=True)
        with MLGymEnv(file, gpus=0, **BOX) as env, pytest.raises(TaskError, match="labels.csv"):
            env.reset()
        file.write_text(DOCUMENTED.replace("accuracy", "beauty"))
        with MLGymEnv(file, gpus=0, **BOX) as env, pytest.raises(TaskError, match="'beauty'"):
            env.reset()


class TestVariables:
    """Each of the seven changes what happens."""

    @pytest.mark.parametrize("name", ["MLGYM_CONFIG_ROOT", "MLGYM_TASK_CONFIG_DIR"])
    def test_where_tasks_are(self, name, tmp_path, monkeypatch):
        write_example(tmp_path / "elsewhere" / "tasks")
        with pytest.raises(ludus.errors.Error):
            ludus.make(ENV_ID, gpus=0)
        folder = tmp_path / "elsewhere"
        monkeypatch.setenv(name, str(folder if "ROOT" in name else folder / "tasks"))
        ludus.make(ENV_ID, gpus=0, **BOX).close()
        listed = CliRunner().invoke(app, ["task", "list", "--ids"]).output
        assert "image_classification_cifar10" in listed

    def test_workspace(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MLGYM_WORKSPACE_PATH", str(tmp_path / "kept"))
        monkeypatch.setenv("LUDUS_LOG", "info")
        with MLGymEnv(write_task(tmp_path / "answers"), **BOX) as env:
            env.reset()
            env.step(answer(0.75))
            env.step("submit")
            assert env.log_file.parent == tmp_path / "kept" / "logs"
        (result,) = (tmp_path / "kept").glob("answers/*/result.json")
        assert json.loads(result.read_text())["score"] == 0.75
        kept = result.parent / "submission" / "answer.json"
        assert json.loads(kept.read_text()) == {"answer": 0.75}

    def test_time_limits(self, tmp_path, monkeypatch):
        task = write_task(tmp_path / "answers")
        monkeypatch.setenv("MLGYM_ENV_TIMEOUT", "77")
        monkeypatch.setenv("MLGYM_ACTION_SHORT_TIMEOUT", "7")
        monkeypatch.setenv("MLGYM_ACTION_LONG_TIMEOUT", "0.5")
        with MLGymEnv(task, **BOX) as env:
            observation, _ = env.reset()
            assert 60 < observation["seconds_left"] <= 77
            assert env.limits.short == 7
            assert "was stopped" in env.step("sleep 9")[0]["output"]
        shown = CliRunner().invoke(app, ["task", "show", str(task), "--json"])
        assert json.loads(shown.output)["seconds"] == "77; command 0.5, tool 7"

    def test_retries_of_models(self, monkeypatch):
        monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", "5")
        assert ModelClient(base_url="http://127.0.0.1:9/v1", model="m").max_retries == 5

    @pytest.mark.parametrize(
        "name",
        ["ENV_TIMEOUT", "ACTION_SHORT_TIMEOUT", "ACTION_LONG_TIMEOUT", "MODEL_MAX_RETRIES", "GPUS"],
    )
    def test_bad_values(self, name, tmp_path, monkeypatch):
        monkeypatch.setenv(f"MLGYM_{name}", "soon")
        with pytest.raises(ResearchError, match=f"MLGYM_{name} is 'soon'; expected"):
            MLGymEnv(write_task(tmp_path / "answers"))


class TestCustomEnvironments:
    def test_extending(self, tmp_path):
        class Short(MLGymEnv):
            def __init__(self, task_config, **options):
                super().__init__(task_config, **options)
                self.observation_space = ludus.spaces.Box(0, np.inf, (), np.float64)

            def reset(self, *, seed=None, options=None):
                observation, info = super().reset(seed=seed, options=options)
                return observation["seconds_left"], info

            def step(self, action):
                observation, *rest = super().step(action)
                return observation["seconds_left"], *rest

        file = write_task(tmp_path / "answers") / "task.yaml"
        ludus.register("my/Short-v0", entry_point=Short, kwargs={"task_config": str(file)})
        with ludus.make("my/Short-v0", **BOX) as env:
            observation, _ = env.reset(seed=1)
            assert observation in env.observation_space
            assert env.step("submit")[2]


class TestRewards:
    def test_every_fault_is_bounded_and_stated(self):
        for id in ("digits", "blotto", "titanicSurvival"):
            spec, scale = ludus.spec(f"mlgym/{id}-v0"), load_task(id).scale
            assert -1 - 1e-9 <= scale.worst < 0
            assert spec.reward_scale == scale.described
            assert f"{scale.worst:.4g} a fault" in spec.reward_scale
            shown = CliRunner().invoke(app, ["task", "show", id, "--json"]).output
            assert json.loads(shown)["reward"] == scale.described

    def test_runs_of_the_first_version_are_verified_by_it(self, tmp_path):
        task = write_task(tmp_path / "answers", direction="higher")
        text = (task / "task.yaml").read_text().replace("floor: 0.0", "floor: -1.0")
        (task / "task.yaml").write_text(text)
        (tmp_path / "acts.yaml").write_text(json.dumps(["rm answer.json; submit"]))
        agent = parse_agent("scripted", {"file": str(tmp_path / "acts.yaml")})
        for version, worth in ((1, -3.0), (2, -1.0)):
            options = EpisodeOptions(
                backend="bubblewrap", unlimited=bool(LOOSE), scale=version, draws="private"
            )
            done = run_research(
                [str(task)], [agent], out=f"v{version}", runs=1, options=options,
                settings=RunSettings(engine="serial"),
            )  # fmt: skip
            assert done.results[0].extra["normalised"] == pytest.approx(worth)
            record = done.folder / done.results[0].record
            subject = read_run(record).manifest["subject"]
            assert subject.get("scale") == {1: None, 2: 2}[version]
            if version == 1:  # as it was written before there was a second one
                file = done.folder / "research.json"
                told = json.loads(file.read_text())
                for name in ("scale", "gpus", "verbose"):
                    del told["options"][name]
                file.write_text(json.dumps(told))
            folder = BenchFolder.open(done.folder)
            found = list(verify_research_run(folder, tasks=[str(task)], unlimited=bool(LOOSE)))
            assert [one.problems for one in found] == [()], found
        # A run that claims the other version than its records have is found out.
        told = json.loads((tmp_path / "v2" / "research.json").read_text())
        told["options"]["scale"] = 1
        (tmp_path / "v2" / "research.json").write_text(json.dumps(told))
        folder = BenchFolder.open(tmp_path / "v2")
        (found,) = verify_research_run(folder, tasks=[str(task)], unlimited=bool(LOOSE))
        assert any("scale is 2" in one for one in found.problems)


class TestDebugging:
    def test_one_log_per_episode(self, tmp_path):
        file = write_task(tmp_path / "answers") / "task.yaml"
        file.write_text(file.read_text() + "verbose: true\n")
        with MLGymEnv(file, **BOX) as env:
            for number in (1, 2):
                env.reset()
                env.step(f"printf 'out{number}\\033[2J'")
                env.step("submit")
                text = env.log_file.read_text()
                assert f"out{number}" in text
                assert "\x1b" not in text
                assert "final: scored" in text
        assert len(list((tmp_path / "runs" / "logs").iterdir())) == 2

    def test_levels(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LUDUS_LOG", "loud")
        with pytest.raises(ResearchError, match="LUDUS_LOG is 'loud'; expected one of debug"):
            MLGymEnv(write_task(tmp_path / "answers"))

    def test_the_terminal_is_printed(self, tmp_path, capsys):
        with MLGymEnv(write_task(tmp_path / "answers"), render_mode="human", **BOX) as env:
            env.reset()
            env.step("echo hello")
            assert capsys.readouterr().out == "/workspace $ echo hello\nhello\n"
            assert env.render() is None


class TestImportPaths:
    PROGRAM = (
        "from mlgym.environment.env import MLGymEnv\n"
        "from mlgym.environment.registration import register_task\n"
        "from mlgym.environment.spaces import ActionSpace\n"
        "from mlgym.environment.tasks import BaseTask, ImageClassificationCIFAR10Task\n"
        "from mlgym.environment.utils import load_task_config, task_limits\n"
        "import ludus.research\n"
        "assert MLGymEnv is ludus.research.MLGymEnv and BaseTask is ludus.research.BaseTask\n"
        "assert load_task_config('blotto').id == 'blotto' and task_limits('blotto').steps > 0\n"
        "try:\n    import mlgym.agents\nexcept ModuleNotFoundError as e:\n    print(e)\n"
    )

    def run(self, *words, **variables):
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, timeout=100,
            env={**os.environ, **variables},
        )  # fmt: skip

    def test_by_command(self, tmp_path):
        (tmp_path / "program.py").write_text(self.PROGRAM)
        done = self.run("-m", "ludus", "as-mlgym", "--", "program.py")
        assert done.returncode == 0, done.stderr
        assert "No module named 'mlgym.agents'" in done.stdout

    def test_by_function_and_never_by_itself(self):
        first = "from ludus.interop.mlgym import install, uninstall\ninstall()\n"
        last = "uninstall()\ntry:\n    import mlgym\nexcept ModuleNotFoundError: print('gone')\n"
        done = self.run("-c", first + self.PROGRAM + last)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("gone\n")
        done = self.run("-c", "import ludus, ludus.research\nimport mlgym")
        assert "No module named 'mlgym'" in done.stderr
