"""The pages on task.yaml, graders and agents say what the code has."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import typing
from pathlib import Path

import pytest

from ludus.research.agents.accounting import Caps
from ludus.research.agents.protocol import StopReason
from ludus.research.agents.react import ReactConfig
from ludus.research.grading.submission import Code, Model, Submission
from ludus.research.linting import RULES
from ludus.research.running.agents import _OPTIONS, BUILT_IN
from ludus.research.task.config import ArtefactKind
from ludus.research.task.config_file import parse_config

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("task_yaml", DOCS / "task_yaml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page()


def named(page):
    return set(re.findall(r"`(\w+)", (DOCS / page).read_text("utf-8")))


def test_the_page_on_task_yaml_is_what_its_program_writes(made):
    kept = (DOCS / "task_yaml.md").read_text("utf-8")
    assert kept == made, "Run: python docs/task_yaml.py"


def test_its_example_is_whole(made):
    example = re.search(r"```yaml\n(.*?)```", made, re.DOTALL)[1]
    config = parse_config(example, "the page")
    given = {line.partition(":")[0] for line in example.splitlines() if line[:1].isalpha()}
    assert given == set(type(config).model_fields)
    assert set(type(config.evaluation).model_fields) - {"direction"} <= set(
        re.findall(r"^  (\w+):", example, re.MULTILINE)
    )


def test_every_field_has_a_meaning(made):
    rows = [line for line in made.splitlines() if line.startswith("| `")]
    assert len(rows) > 25
    for row in rows:
        assert not row.rstrip(" |").endswith("See"), row
        assert row.count("|") >= 5, row


def test_the_page_on_graders_has_all_methods_kinds_and_rules():
    public = {
        name
        for kind in (Submission, Code, Model)
        for name in vars(kind)
        if not name.startswith("_")
    }
    kinds = set(typing.get_args(ArtefactKind))
    assert public | kinds | {"name", "seconds"} <= named("authoring.md")
    rules = set(re.findall(r"`([a-z-]+)`", (DOCS / "authoring.md").read_text("utf-8")))
    assert set(RULES) <= rules


def test_the_page_on_agents_has_all_options():
    words = named("agents.md")
    options = {option for options in _OPTIONS.values() for option in options}
    caps = {field.name for field in dataclasses.fields(Caps)}
    assert set(BUILT_IN) | options | caps <= words
    text = (DOCS / "agents.md").read_text("utf-8")
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(ReactConfig)
        if isinstance(field.default, int | float | str)
    }
    assert len(defaults) > 5
    for name, value in defaults.items():
        row = next(line for line in text.splitlines() if f"`{name}`" in line and "|" in line)
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        assert f"`{shown}`" in row, row
    told = set(re.findall(r"`(\w+_\w+)`", text.rpartition("one of these reasons")[2]))
    assert told == {reason.value for reason in StopReason} - {"interrupted", "nothing_left"}
