"""Tasks: their folders, the interface, preparing, finding and registering them."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

import pytest

from ludus import make
from ludus.errors import DataMissing, ResearchError, TaskError
from ludus.registration import registry
from ludus.research.data.hiding import hidden_paths
from ludus.research.data.preparation import prepare
from ludus.research.linting.reach import contents
from ludus.research.task import registration
from ludus.research.task.discovery import BUNDLED, find_tasks, load_task, search_path, task_ids
from ludus.research.task.registration import register_task, register_tasks
from ludus.research.task.scaffold import new_task
from ludus.research.task.settings import MlgymSettings
from ludus.research.task.task import ActionResult, BaseTask
from tests.research.support import DOCUMENTED, SAMPLES

GUESS = SAMPLES / "guess_number"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in list(os.environ):
        if name.startswith("MLGYM_"):
            monkeypatch.delenv(name)


@pytest.fixture
def known(monkeypatch):
    """The registry, put back afterwards."""
    before = dict(registry)
    yield registry
    registry.clear()
    registry.update(before)


@pytest.fixture
def slope(tmp_path):
    return load_task(new_task("slopeTask", tmp_path))


def scored(score, **fields):
    return ActionResult("a", {}, "scored", score, **fields)


class TestBaseTask:
    """Of guessNumber: baseline 17, threshold 6, floor 32, lower is better."""

    def play(self, task, results):
        waiting = iter(results)
        task.execute = lambda action: next(waiting)
        assert task.reset(0) is None
        return [task.step("a")[1:3] for _ in results]

    def test_rewards_telescope(self):
        results = [
            ActionResult("ls", {}),
            scored(6.0),
            ActionResult("validate", {}, "agent_fault"),
            scored(17.0),
            ActionResult("validate", {}, "infrastructure_fault"),
            scored(11.5, final=True),
        ]
        steps = self.play(BaseTask(load_task(GUESS).config), results)
        assert [reward for reward, _ in steps] == [0, 1, 0, 0, 0, -0.5]
        assert [done for _, done in steps] == [False] * 5 + [True]

    def test_a_refused_submission_is_worth_the_floor(self):
        ((reward, done),) = self.play(
            BaseTask(load_task(GUESS).config),
            [ActionResult("submit", {}, "agent_fault", final=True)],
        )
        assert (reward, done) == (pytest.approx(-1), True)

    def test_a_lost_box_is_worth_nothing(self):
        results = [scored(6.0), ActionResult("submit", {}, "infrastructure_fault", final=True)]
        assert self.play(BaseTask(load_task(GUESS).config), results) == [(1, False), (0, True)]

    def test_reset_forgets(self):
        task = BaseTask(load_task(GUESS).config)
        assert self.play(task, [scored(6.0)]) == self.play(task, [scored(6.0)])

    @pytest.mark.parametrize("form", ["history", "action and result"])
    def test_get_reward_may_be_another(self, form):
        class ByHistory(BaseTask):
            def get_reward(self, history):
                return len(history)

        class ByResult(BaseTask):
            def get_reward(self, action, result):
                assert action == "a"
                return result.score

        kind = ByHistory if form == "history" else ByResult
        steps = self.play(kind(load_task(GUESS).config), [scored(1.0), scored(2.0)])
        assert [reward for reward, _ in steps] == [1, 2]

    def test_alone_it_says_what_is_missing(self):
        with pytest.raises(ResearchError, match="mlgym/guessNumber-v0"):
            BaseTask(load_task(GUESS).config).step("ls")


class TestPreparing:
    def test_the_same_seed_gives_the_same_bytes(self, slope, tmp_path):
        made = {}
        for name, seed in (("a", 3), ("b", 3), ("c", 4)):
            folders = prepare(slope, seed, tmp_path / name)
            files = [path for path in (tmp_path / name).rglob("*") if path.is_file()]
            made[name] = {path.relative_to(tmp_path / name): path.read_bytes() for path in files}
            assert folders.workspace == tmp_path / name / "workspace"
            assert (folders.test / "labels.csv").is_file()
        assert made["a"] == made["b"] != made["c"]
        assert Path("workspace/README.md") in made["a"]
        assert not any("grade" in str(path) or "solve" in str(path) for path in made["a"])

    def test_a_task_without_data(self, tmp_path):
        folders = prepare(load_task(GUESS), 0, tmp_path)
        assert [path.name for path in folders.workspace.iterdir()] == ["guess.py"]
        assert not list(folders.test.iterdir())

    def test_links_are_not_followed(self, slope, tmp_path):
        (slope.workspace / "all").symlink_to(slope.grader)
        with pytest.raises(TaskError, match="neither a file nor a folder"):
            prepare(slope, 0, tmp_path / "x")

    def test_a_failure_names_file_and_line(self, slope, tmp_path):
        slope.data_program.write_text("def build(folder, seed):\n    1 / 0\n")
        with pytest.raises(TaskError, match=r"data\.py, line 2: .*ZeroDivisionError"):
            prepare(slope, 0, tmp_path / "x")

    def test_missing_data_is_no_failure(self, slope, tmp_path):
        slope.data_program.write_text(
            "from ludus.errors import DataMissing\n"
            "def build(folder, seed):\n    raise DataMissing('pip install it')\n"
        )
        with pytest.raises(DataMissing, match="pip install it"):
            prepare(slope, 0, tmp_path / "x")

    def test_nothing_to_start_from(self, tmp_path):
        (tmp_path / "lonely.yaml").write_text(DOCUMENTED)
        with pytest.raises(TaskError, match="neither a folder"):
            prepare(load_task(tmp_path / "lonely.yaml"), 0, tmp_path / "x")


class TestFinding:
    def test_by_path(self, tmp_path):
        (tmp_path / "single.yaml").write_text(DOCUMENTED)
        assert load_task(GUESS) == load_task(str(GUESS)) == load_task(GUESS / "task.yaml")
        task = load_task(tmp_path / "single.yaml")
        assert task.folder == tmp_path / "single"
        assert load_task(task) is task

    def test_folders_and_single_files_of_the_variables(self, tmp_path, monkeypatch, slope):
        (tmp_path / "more" / "tasks").mkdir(parents=True)
        (tmp_path / "more" / "tasks" / "image.yml").write_text(DOCUMENTED)
        monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", f"{SAMPLES}{os.pathsep}{tmp_path}")
        monkeypatch.setenv("MLGYM_CONFIG_ROOT", str(tmp_path / "more"))
        assert search_path() == (BUNDLED, SAMPLES, tmp_path, tmp_path / "more" / "tasks")
        mine = {"guessNumber", "image_classification_cifar10", "slopeTask"}
        assert mine <= set(task_ids())
        assert load_task("slopeTask") == slope
        assert load_task("mlgym/slopeTask-v0") == slope

    def test_what_is_not_there(self, monkeypatch, tmp_path):
        monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", f"{SAMPLES}{os.pathsep}{tmp_path / 'gone'}")
        with pytest.raises(TaskError, match="Did you mean 'guessNumber'") as caught:
            load_task("guesnumber")
        assert str(tmp_path / "gone") in str(caught.value)
        with pytest.raises(TaskError, match=r"no task at .*task list"):
            load_task(tmp_path / "gone")

    def test_two_of_one_id(self, monkeypatch, tmp_path):
        shutil.copytree(GUESS, tmp_path / "copy")
        monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", f"{SAMPLES}{os.pathsep}{tmp_path}")
        with pytest.raises(TaskError, match="Several tasks have the id"):
            load_task("guessNumber")

    def test_a_broken_file_harms_only_itself(self, monkeypatch, tmp_path):
        (tmp_path / "bad.yaml").write_text("id: bad\nnme: x\n")
        (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xfd")
        (tmp_path / "good.yaml").write_text(DOCUMENTED)
        monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", str(tmp_path))
        assert set(find_tasks().broken) == {tmp_path / "bad.yaml", tmp_path / "binary.yaml"}
        assert load_task("image_classification_cifar10").file == tmp_path / "good.yaml"
        with pytest.raises(TaskError, match="bad.yaml, line 2: nme"):
            load_task("bad")
        with pytest.raises(TaskError, match="There is no task 'nme'"):
            load_task("nme")
        with pytest.warns(UserWarning, match="A task is left out"):
            assert "image_classification_cifar10" in task_ids()

    def test_digests_follow_the_content(self, slope):
        before = slope.digest()
        (slope.folder / "__pycache__").mkdir()
        (slope.folder / "__pycache__" / "x.pyc").write_bytes(b"x")
        assert load_task(slope.folder).digest() == before
        (slope.grader / "more.py").write_text("")
        assert slope.digest() != before

    def test_hidden_paths(self, slope):
        text = (
            slope.file.read_text() + f"hidden: [{slope.grader}, 'json:tool.py', 'gone:x', /gone]\n"
        )
        slope.file.write_text(text)
        tool = Path(importlib.import_module("json").__path__[0], "tool.py").resolve()
        found = set(hidden_paths(load_task(slope.folder)))
        assert found > {BUNDLED.resolve(), slope.folder, tool}
        assert slope.grader not in found  # it lies in a folder that is hidden as a whole


class TestSettings:
    def test_defaults(self):
        settings = MlgymSettings.read({})
        assert settings == MlgymSettings()
        assert settings.long_timeout(1800) == 1800

    def test_all_variables(self):
        settings = MlgymSettings.read(
            {
                "MLGYM_CONFIG_ROOT": "/c",
                "MLGYM_TASK_CONFIG_DIR": f"/a{os.pathsep}/b",
                "MLGYM_WORKSPACE_PATH": "/w",
                "MLGYM_ENV_TIMEOUT": "10000",
                "MLGYM_ACTION_SHORT_TIMEOUT": "60",
                "MLGYM_ACTION_LONG_TIMEOUT": "9.5",
                "MLGYM_MODEL_MAX_RETRIES": "0",
            }
        )
        assert settings == MlgymSettings(
            config_root=Path("/c"),
            task_config_dir=(Path("/a"), Path("/b")),
            workspace_path=Path("/w"),
            env_timeout=10000,
            action_short_timeout=60,
            action_long_timeout=9.5,
            model_max_retries=0,
        )
        assert settings.long_timeout(1800) == 9.5

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("MLGYM_ENV_TIMEOUT", "soon"),
            ("MLGYM_ENV_TIMEOUT", "0"),
            ("MLGYM_ACTION_LONG_TIMEOUT", "inf"),
            ("MLGYM_ACTION_SHORT_TIMEOUT", "nan"),
            ("MLGYM_MODEL_MAX_RETRIES", "-1"),
            ("MLGYM_MODEL_MAX_RETRIES", "1.5"),
        ],
    )
    def test_wrong_values_are_named(self, name, value):
        with pytest.raises(ResearchError, match=f"{name} is '{value}'; expected"):
            MlgymSettings.read({name: value})


class TestRegistration:
    def test_as_documented(self, known):
        register_task(
            id="my_images",
            entry_point="somewhere.tasks:ImageTask",
            max_steps=50,
            description="Classify images.",
        )
        spec = known["mlgym/my_images-v0"]
        assert spec.entry_point == registration.ENTRY_POINT
        assert spec.kwargs == {
            "task": "my_images", "task_class": "somewhere.tasks:ImageTask", "max_steps": 50,
        }  # fmt: skip
        assert spec.description == "Classify images."
        assert spec.max_episode_steps is None
        with pytest.raises(TaskError, match="No module named 'somewhere'.*PYTHONPATH"):
            make("mlgym/my_images-v0")

    def test_everything_on_the_search_path(self, known, monkeypatch):
        monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", str(SAMPLES))
        register_tasks()
        register_tasks()
        spec = known["mlgym/guessNumber-v0"]
        assert spec.kwargs == {"task": str(GUESS / "task.yaml")}
        assert spec.description.startswith("Write guess.py with a function")
        assert spec.security.trust == "plugin"
        assert spec.to_json()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"id": "a/b"},
            {"id": "a-v0"},
            {"id": "a", "entry_point": "a.b"},
            {"id": "a", "max_steps": 0},
        ],
    )
    def test_wrong_calls(self, wrong):
        with pytest.raises(TaskError):
            register_task(**wrong)


class TestNew:
    def test_ids_become_folders(self, tmp_path):
        for id, folder, name in (
            ("battleOfSexes", "battle_of_sexes", "Battle of sexes"),
            ("3SATTime", "3_sat_time", "3 sat time"),
            ("a.b-c", "a_b_c", "A b c"),
        ):
            made = new_task(id, tmp_path)
            assert (made.name, load_task(made).config.name) == (folder, name)
            assert load_task(made).id == id

    @pytest.mark.parametrize("id", ["", "a b", "../a", "a-v0", 'a"b', "$id"])
    def test_what_is_no_id(self, id, tmp_path):
        with pytest.raises(TaskError, match="id: "):
            new_task(id, tmp_path)
        assert not list(tmp_path.iterdir())

    def test_nothing_is_overwritten(self, tmp_path):
        new_task("mine", tmp_path)
        with pytest.raises(TaskError, match="there already"):
            new_task("mine", tmp_path)


def test_a_variant_has_what_it_lacks_from_the_task_it_extends(tmp_path):
    base, variant = new_task("slope", tmp_path), tmp_path / "steeper"
    (variant / "workspace").mkdir(parents=True)
    (variant / "task.yaml").write_text("id: steeper\nextends: ../slope\nmax_steps: 7\n")
    (variant / "workspace" / "README.md").write_text("Steeper.\n")
    one, other = load_task(base), load_task(variant)
    assert (other.id, other.config.max_steps) == ("steeper", 7)
    assert other.config.evaluation == one.config.evaluation
    assert (other.grader, other.data_program) == (one.grader, one.data_program)
    assert base.resolve() in hidden_paths(other)
    made, known = (prepare(task, 0, tmp_path / task.id / "made") for task in (other, one))
    assert contents(made.test) == contents(known.test)
    assert contents(made.workspace).keys() == contents(known.workspace).keys()
    assert (made.workspace / "README.md").read_text() == "Steeper.\n"
    before = other.digest()
    (base / "grader" / "grade.py").write_text("# other\n")
    assert other.digest() != before


@pytest.mark.parametrize(
    "extends", ["../nowhere", "/slope", "[a]", "../steeper"], ids=["none", "path", "kind", "itself"]
)
def test_what_cannot_be_extended_is_told(tmp_path, extends):
    (tmp_path / "steeper").mkdir()
    file = tmp_path / "steeper" / "task.yaml"
    file.write_text(f"id: steeper\nextends: {extends}\n")
    with pytest.raises(TaskError, match=r"extends|no task at"):
        load_task(file)


def test_levels_of_bundled_tasks_share_data_and_grader():
    for level, base in {
        "imageClassificationCifar10L1": "imageClassificationCifar10",
        "regressionKaggleHousePriceL1": "regressionKaggleHousePrice",
        "rlMountainCarContinuousReinforce": "rlMountainCarContinuous",
    }.items():
        one, other = load_task(base), load_task(level)
        assert other.base is not None
        assert (other.grader, other.data_program) == (one.grader, one.data_program)
        assert other.config.description != one.config.description
        assert other.config.submission == one.config.submission
