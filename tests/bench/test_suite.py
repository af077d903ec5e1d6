from __future__ import annotations

import pytest

from ludus.bench.planning.suite import load_suite, parse_suite, suites
from ludus.bench.running.references import measure
from ludus.errors import SuiteError

GOOD = """\
name: mine
seeds: 2
agents: [random, {use: "a.b:c", name: mine, num_envs: 4, options: {x: 1}}]
budget: {episodes: 10, max_seconds: 60}
environments:
  - id: CartPole-v1
    reference: {min: 22, max: 500, source: measured}
  - id: Taxi-v4
    budget: {steps: 100}
"""


def test_a_suite_is_read():
    suite = parse_suite(GOOD, "mine.yaml")
    assert suite.seeds == (0, 1)
    assert suite.agents[1].num_envs == 4
    first, second = suite.environments
    assert suite.budget_of(first).episodes == 10
    assert suite.budget_of(second).model_dump() == {
        "episodes": None,
        "steps": 100,
        "max_steps": None,
        "max_seconds": 60.0,
        "max_cost": None,
    }
    assert list(suite.references) == ["CartPole-v1"]
    assert suite.references["CartPole-v1"].minimum == 22


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("seeds: 2", "sedes: 2", "line 2: sedes: there is no such field; did you mean 'seeds'?"),
        ("episodes: 10", "episode: 10", "line 4: budget.episode: there is no such field; did"),
        ("min: 22", "minimum: 22", "line 7: environments.0.reference.minimum"),
        ("max: 500", "max: 22", "line 7: environments.0.reference: 'min' and"),
        ("max: 500", "max: 1", "line 6: environments.0: higher scores are better"),
        ("max: 500", "max: .nan", "reference.max: input should be a finite number"),
        ("id: Taxi-v4", "id: Taxi", "line 8: environments.1.id: 'Taxi' names no version"),
        ("id: Taxi-v4", "id: CartPole-v1", "environments.1: CartPole-v1 occurs twice"),
        ("id: Taxi-v4", "id: 'a b'", "malformed environment ID"),
        ("{steps: 100}", "{steps: -1}", "line 9: environments.1.budget.steps: input should"),
        ("{steps: 100}", "{steps: 1, episodes: 1}", "'steps'; both are given"),
        ("episodes: 10, ", "", "line 4: budget: give either 'episodes' or"),
        ("seeds: 2", "seeds: [1, 1]", "line 2: seeds: give at least one seed"),
        ("seeds: 2", "seeds: 0", "line 2: seeds: there can be 1 to 10000 seeds, got 0"),
        ("seeds: 2", "seeds: [1.5]", "line 2: seeds.0: input should be a valid integer, got 1.5"),
        ("name: mine\n", "", "line 1: name: this field is required; add it"),
        ("name: mine", "name: a/b", "line 1: name"),
        ("seeds: 2", "seeds: 2\n? [1]\n: 2", "line 3: a key must be a scalar"),
        ("seeds: 2", "seeds: 2\nseeds: 3", "line 3: 'seeds' is given twice, in lines 2 and 3"),
        ("seeds: 2", "seeds: [2", "mine.yaml, line"),
        (GOOD, "- a list", "line 1: expected fields such as 'name'"),
        (GOOD, "", "expected fields"),
        (GOOD, "!!python/object/apply:os.system [id]", "apply:os.system' is not supported"),
        ("num_envs: 4", "numenvs: 4", "line 3: agents.1.numenvs: there is no"),
        ("name: mine\n", "name: mine\n" + "#" * 1_000_001 + "\n", "a suite has at most"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line_and_a_fix(before, after, words):
    assert before in GOOD
    with pytest.raises(SuiteError) as refusal:
        parse_suite(GOOD.replace(before, after, 1), "mine.yaml")
    assert words in str(refusal.value)
    assert isinstance(refusal.value, ValueError)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(SuiteError) as refusal:
        parse_suite(GOOD.replace("seeds", "sedes").replace("min:", "mni:"), "mine.yaml")
    assert "sedes" in str(refusal.value)
    assert "mni" in str(refusal.value)


def test_files_and_names(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert load_suite(path).name == "mine"
    with pytest.raises(SuiteError, match=r"Give one of algorithmic, atari5, .*, or the path"):
        load_suite("nothing")


def test_the_digest_is_what_scores_depend_on():
    suite = parse_suite(GOOD, "a")
    same = [
        suite.changed(seeds=5),
        suite.changed(episodes=3),
        parse_suite(GOOD.replace("agents: [random, ", "agents: ["), "b"),
    ]
    other = [GOOD.replace("min: 22", "min: 21"), GOOD.replace("name: mine\n", "name: m\n")]
    assert {one.digest for one in same} == {suite.digest}
    assert len({suite.digest, *(parse_suite(one, "c").digest for one in other)}) == 3


def test_changes_apply_to_every_environment():
    suite = parse_suite(GOOD, "a").changed(seeds=[7], episodes=3, max_seconds=5)
    assert suite.seeds == (7,)
    assert [suite.budget_of(row).episodes for row in suite.environments] == [3, 3]
    assert [suite.budget_of(row).max_seconds for row in suite.environments] == [5, 5]
    with pytest.raises(SuiteError, match="seeds"):
        suite.changed(seeds=0)


def test_bundled_suites():
    assert suites() == [
        "algorithmic", "atari5", "board", "box2d", "classic", "grid", "mujoco", "research", "toy",
    ]  # fmt: skip
    for name in suites():
        suite = load_suite(name)
        assert suite.name == name
        assert suite.description
        assert all(row.reference or row.install for row in suite.environments)
    for name in ("classic", "toy", "algorithmic", "grid"):
        assert set(load_suite(name).references) == {row.id for row in load_suite(name).environments}


@pytest.mark.parametrize(("name", "env"), [("algorithmic", "Copy-v0"), ("toy", "FrozenLake-v1")])
def test_references_can_be_measured_again(name, env):
    """The numbers in the files are what the command measures, rounded as they are there."""
    suite = load_suite(name)
    row = next(row for row in suite.environments if row.id == env)
    (found,) = measure(suite.model_copy(update={"environments": (row,)}))
    assert row.reference.min == float(f"{found.random:.4g}")
    if "machine" in row.reference.source:
        assert row.reference.max == float(f"{found.heuristic:.4g}")
    if "optimum" in row.reference.source:
        assert row.reference.max == float(f"{found.optimum:.4g}")
