"""``task.yaml``: what it may say, and how it is told that it is wrong."""

from __future__ import annotations

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.errors import TaskError
from ludus.research.task.config import TaskConfig
from ludus.research.task.config_file import parse_config, read_config
from tests.research.support import DOCUMENTED


def problems(text):
    config, found = read_config(text, "task.yaml")
    assert (config is None) == bool(found)
    return found


def only(text):
    (problem,) = problems(text)
    return problem


def test_the_documented_form_loads_as_it_stands():
    config = parse_config(DOCUMENTED, "task.yaml")
    assert config.id == "image_classification_cifar10"
    assert config.env_id == "mlgym/image_classification_cifar10-v0"
    assert config.name == "Image Classification (CIFAR-10)"
    assert (config.max_steps, config.timeout) == (50, 3600)
    assert (config.evaluation.metric, config.evaluation.threshold) == ("accuracy", 0.7)
    assert config.evaluation.direction == "higher"
    assert (config.resources.memory, config.resources.cpu, config.resources.gpu) == (8 << 30, 2, 1)


def test_additions():
    config = parse_config(
        DOCUMENTED.replace("threshold: 0.7", "threshold: 0.7\n  baseline: 0.5\n  floor: 0.1")
        + "submission:\n  - {path: out/a.csv, kind: csv, max_bytes: 1M}\n"
        + "validations: 20\nrun: {baseline: python b.py}\npackages: [numpy, sklearn.linear_model]\n"
        + "hidden: [/usr/share/datasets, 'sklearn:datasets/tests/data']\nanswers: [label]\n",
        "task.yaml",
    )
    (artefact,) = config.submission
    assert (artefact.path, artefact.kind, artefact.max_bytes) == ("out/a.csv", "csv", 1 << 20)
    assert config.validations == 20
    assert config.evaluation.scale.worst == pytest.approx(-1)
    assert config.evaluation.measured_by(1).scale.worst == pytest.approx(-2)
    assert config.evaluation.model_dump() == config.evaluation.measured_by(1).model_dump()
    with pytest.raises(pydantic.ValidationError):
        config.max_steps = 3


@pytest.mark.parametrize(
    ("metric", "direction"),
    [("loss", "lower"), ("validation_loss", "lower"), ("RMSE", "lower"), ("log loss", "lower"),
     ("accuracy", "higher"), ("lossless", "higher"), ("score", "higher"), ("timeliness", "higher")],
)  # fmt: skip
def test_direction_follows_the_metric(metric, direction):
    text = DOCUMENTED.replace("accuracy", metric)
    assert parse_config(text, "").evaluation.direction == direction
    stated = text.replace("threshold:", "direction: higher\n  threshold:")
    assert parse_config(stated, "").evaluation.direction == "higher"


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ("metric", "metrc", 8, "evaluation.metrc", "did you mean 'metric'"),
        ("max_steps", "max_step", 5, "max_step", "did you mean 'max_steps'"),
        ("max_steps: 50", "max_steps: '50'", 5, "max_steps", "without quotes"),
        ("max_steps: 50", "max_steps: true", 5, "max_steps", "whole number, got True"),
        ("max_steps: 50", "max_steps: 0", 5, "max_steps", "greater than 0"),
        ("timeout: 3600", "timeout: -1", 6, "timeout", "greater than 0"),
        ("0.7", ".nan", 9, "evaluation.threshold", "finite"),
        ('"8G"', "8Q", 11, "resources.memory", "'8Q' is no size"),
        ("gpu: 1", "gpu: 0.5", 13, "resources.gpu", "whole number"),
        ("image_class", "a/b", 2, "id", "letters, digits"),
        ("_cifar10", "-v1", 2, "id", "leave out the version"),
        ("cpu: 2", "cpu: 2\n  cpu: 2", 13, "task", "'cpu' is given twice, in lines 12 and 13"),
        ("gpu: 1", "gpu: 1\nrun: {a: 1, a: 2}", 14, "task", "'a' is given twice, in lines"),
        ("0.7", "0.7\n  direction: up", 10, "evaluation.direction", "'lower'"),
        ("gpu: 1", "gpu: 1\n1: 2", 14, "1", "string"),
        ("0.7", "0.7\n  baseline: 0.8", 7, "evaluation", "must be higher"),
        ("gpu: 1", "gpu: 1\nthreshold: 1", 14, "threshold", "move it into 'evaluation'"),
        ("gpu: 1", "gpu: 1\nstarter_code: [a]", 14, "starter_code", "folder 'workspace'"),
        ("gpu: 1", "gpu: 1\nid: b", 14, "task", "'id' is given twice, in lines 2 and 14"),
        ("gpu: 1", "gpu: [", 14, "task", "check indentation"),
        ("gpu: 1", "gpu: 1\nsubmission: x", 14, "submission", "expected a list"),
        ("gpu: 1", "gpu: 1\npackages: [numpy>=1]", 14, "packages", "no name that can be imported"),
        ("gpu: 1", "gpu: 1\nhidden: [../a]", 14, "hidden", "absolute"),
        ("gpu: 1", "gpu: 1\nhidden: [/]", 14, "hidden", "absolute"),
        ("gpu: 1", "gpu: 1\nxyz: 1", 14, "xyz", "use one of: answers, code_beside_tests"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line_and_fix(old, new, line, field, words):
    text = DOCUMENTED.replace(old, new, 1)
    found = [problem for problem in problems(text) if problem.field == field]
    assert [problem.line for problem in found] == [line]
    assert words in str(found[0])
    assert str(found[0]).startswith(f"task.yaml, line {line}: {field}: ")


@pytest.mark.parametrize(
    "path", ["../a", "/a", "a/../b", "a//b", "./a", "a/", "", "a\\nb", "a\\0b"]
)
def test_artefacts_lie_below_the_workspace(path):
    text = DOCUMENTED + f'submission: [{{path: "{path}", kind: csv}}]\n'
    assert only(text).field == "submission.0.path"


@pytest.mark.parametrize("paths", [("a", "a"), ("a", "a/b")])
def test_artefacts_do_not_overlap(paths):
    rows = "".join(f"  - {{path: {path}, kind: text}}\n" for path in paths)
    assert only(f"{DOCUMENTED}submission:\n{rows}").line == 14


def test_every_problem_is_told_at_once():
    text = DOCUMENTED.replace("metric", "metrc").replace("name:", "nme:")
    with pytest.raises(TaskError) as caught:
        parse_config(text, "there/task.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("there/task.yaml, line ") for line in lines)


@pytest.mark.parametrize("text", ["", "3", "- a", "\0", "a: &a [*a]", "? [1]\n: 2", "x" * 200_001])
def test_what_is_no_task_at_all(text):
    assert problems(text)


@given(st.text(max_size=80))
def test_any_text_is_read_or_explained(text):
    for whole in (text, DOCUMENTED + text):
        assert all(str(problem).startswith("task.yaml") for problem in problems(whole))


def test_configs_survive_being_plain_data():
    config = parse_config(DOCUMENTED, "")
    assert TaskConfig.model_validate(config.model_dump()) == config
