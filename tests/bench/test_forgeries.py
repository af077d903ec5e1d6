"""Results that somebody forged: none of them is verified.

The forger has the whole of Ludus, and makes records that hold together. What the forger does not
have is the key of whoever reads the results.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from ludus import make
from ludus.bench.planning.plan import Missing, Unit
from ludus.bench.planning.suite import load_suite, parse_suite
from ludus.bench.report import write_report
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.play import UnitTally
from ludus.bench.running.runner import RunSettings, resume_run, run_suite
from ludus.bench.store import open_store
from ludus.bench.store.board import tally_results
from ludus.bench.store.leaderboard import make_boards
from ludus.bench.verifying.claim import claim_score
from ludus.bench.verifying.statement import Statement, read_statements, sign_statement, standing
from ludus.bench.verifying.verification import verify_run
from ludus.errors import BenchError
from ludus.record import generate_key, own_key, read_run, trusted_keys, verify
from ludus.wrappers import ClipReward, TransformReward
from tests.record.tampering import Forgery

SERIAL = RunSettings(engine="serial", backoff=0.0)
SUITE = """\
name: small
seeds: 2
agents: [heuristic, random]
budget: {episodes: 3}
environments:
  - id: CartPole-v1
    reference: {min: 22, max: 500, source: x}
"""


def played(path, text=SUITE, agents=None):
    run_suite(parse_suite(text, "small.yaml"), agents, out=path, settings=SERIAL)
    return BenchFolder.open(path)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A verified run, to be copied."""
    folder = played(tmp_path_factory.mktemp("honest") / "run")
    assert [one.result.verified for one in verify_run(folder)] == ["verified"] * 4
    return folder.path


@pytest.fixture
def run(honest, tmp_path):
    shutil.copytree(honest, tmp_path / "run")
    return tmp_path / "run"


def problems(folder):
    """Verify a run that must not pass, and return all that is wrong with it."""
    found = list(verify_run(folder))
    assert all(one.result.verified == "failed" for one in found), found
    assert {one.verified for one in folder.results()} <= {"failed", "claimed"}
    return " | ".join(text for one in found for text in one.problems)


def edit(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_field_that_says_verified_says_nothing(tmp_path):
    """Neither in a report, nor in a store that the run is resumed into."""
    folder = played(tmp_path / "run")
    for path in folder.path.glob("results/*.json"):
        edit(path, score=501.0, best_score=501.0, verified="verified")
    assert {one.verified for one in folder.results()} == {"claimed"}
    files = write_report(folder.results(), tmp_path / "report.html")
    assert "0 of 4 runs are verified" in files.markdown.read_text()
    resume_run(folder.path, settings=replace(SERIAL, store=tmp_path / "store.sqlite"))
    with open_store(tmp_path / "store.sqlite") as store:
        (board,) = store.leaderboard(verified_only=True)
        assert board.rows == ()
        assert "4 results are left out" in " ".join(board.notes)
    assert "score: the result says 501.0" in problems(folder)


def test_a_verified_result_that_is_changed_is_a_claim(run):
    for path in run.glob("results/*.json"):
        edit(path, score=501.0, best_score=501.0)
    assert {one.verified for one in BenchFolder.open(run).results()} == {"claimed"}


ENVIRONMENTS = {
    "a longer episode": (
        "CartPole-v1",
        lambda _: make("CartPole-v1", max_episode_steps=5000),
        "wrappers is",
    ),
    "another argument": (
        "FrozenLake-v1",
        lambda _: make("FrozenLake-v1", is_slippery=False),
        "kwargs is",
    ),
    "a wrapper that pays more": (
        "CartPole-v1",
        lambda _: ClipReward(make("CartPole-v1"), min_reward=5.0, max_reward=10.0),
        "wrappers is",
    ),
    "a wrapper that cannot be described": (
        "CartPole-v1",
        lambda _: TransformReward(make("CartPole-v1"), lambda reward: 2 * reward),
        "unreplayable is",
    ),
    "another environment": ("CartPole-v1", lambda _: make("CartPole-v0"), "id is"),
    "an environment by its side": (
        "FrozenLake-v1",
        lambda _: make("FrozenLake8x8-v1"),
        "registered is",
    ),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_another_environment_than_the_suites(tmp_path, monkeypatch, name):
    env_id, cheat, words = ENVIRONMENTS[name]
    text = f"name: s\nseeds: 1\nbudget: {{episodes: 2}}\nenvironments: [{{id: {env_id}}}]\n"
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "make_env", cheat)
        folder = played(tmp_path / "run", text, ["heuristic"])
    assert words in problems(folder)


def test_a_suite_imports_nothing(tmp_path, monkeypatch):
    """The module in front of an id is the word of whoever wrote the suite."""
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    folder = played(tmp_path / "run", SUITE, ["random"])
    plan = json.loads((folder.path / "bench.json").read_text())
    plan["suite"]["environments"][0]["id"] = "evil_module:Strange-v0"
    (folder.path / "bench.json").write_text(json.dumps(plan))
    found = list(verify_run(BenchFolder.open(folder.path)))
    assert {one.result.verified for one in found} == {"failed"}


@pytest.mark.parametrize("kwargs", [{"bogus": 1}, {"render_mode": "none"}])
def test_an_environment_that_cannot_be_made_is_never_verified(tmp_path, monkeypatch, kwargs):
    """The record is of one that can be, under a suite that nobody can play."""
    text = f"{SUITE}    kwargs: {json.dumps(kwargs)}\n"
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "make_env", lambda _: make("CartPole-v1"))
        folder = played(tmp_path / "run", text, ["random"])
    found = list(verify_run(folder))
    assert "verified" not in {one.result.verified for one in found}
    assert "cannot be made as the suite says" in found[0].unchecked[0]


class Reset:
    """Passes everything on, but resets in its own way."""

    def __init__(self, env, **options):
        self._env, self._options = env, options

    def __getattr__(self, name):
        return getattr(self._env, name)

    def reset(self, *, seed=None):
        return self._env.reset(seed=self._options.get("seed", seed), options=self._options.get("o"))


def play_with(change):
    """Return ``play``, as the forger has it."""
    from ludus.bench.running import play as module

    return lambda unit, env, tally, original=module.play: change(original, unit, env, tally)


def more_episodes(play, unit, env, tally):
    """Play many, and keep those that went well."""
    play(replace(unit, budget=unit.budget.model_copy(update={"episodes": 20})), env, tally)
    tally.returns[:] = sorted(tally.returns)[-3:]


def fewer_episodes(play, unit, env, tally):
    play(replace(unit, budget=unit.budget.model_copy(update={"episodes": 2})), env, tally)


def fewer_by_a_limit(play, unit, env, tally):
    """Say that a limit ended it, which the unit does not have."""
    fewer_episodes(play, unit, env, tally)
    tally.stopped = "max_steps"


def fewer_by_its_cost(play, unit, env, tally):
    fewer_episodes(play, unit, env, tally)
    tally.stopped, tally.cost = "max_cost", 1e6


def easier_start(play, unit, env, tally):
    play(unit, Reset(env, o={"low": 0.0, "high": 0.001}), tally)


def better_seeds(play, unit, env, tally):
    play(unit, Reset(env, seed=12345), tally)


def one_more_step(play, unit, env, tally):
    play(unit, env, tally)
    env.reset(seed=unit.env_seed(3))
    env.step(0)
    tally.rows += 1


def a_reset_after_the_end(play, unit, env, tally):
    play(unit, env, tally)
    env.reset(seed=1)


def more_learning(play, unit, env, tally):
    """Say that the agent learnt, and how."""
    play(unit, env, tally)
    tally.curve = [[1, 500.0]]


def fewer_steps(play, unit, env, tally):
    play(unit, env, tally)
    tally.steps = 1


@pytest.mark.parametrize(
    ("cheat", "words"),
    [
        (more_episodes, "20 episodes were played, more than the budget's 3"),
        (fewer_episodes, "2 episodes were played, and the budget asks for 3"),
        (fewer_by_a_limit, "max_steps is said to have ended it"),
        (fewer_by_its_cost, "'max_cost' is said to have ended it, which is no limit"),
        (easier_start, "reset 0 was made with options"),
        (better_seeds, "was not seeded as this unit is"),
        (one_more_step, "episode 3 was not played to its end"),
        (a_reset_after_the_end, "it was reset 4 times, not 3"),
        (more_learning, "extra: the result says"),
        (fewer_steps, "1 steps are claimed"),
    ],
)
def test_other_episodes_than_the_suites(tmp_path, monkeypatch, cheat, words):
    with monkeypatch.context() as patch:
        patch.setattr("ludus.bench.running.execute.play", play_with(cheat))
        folder = played(tmp_path / "run", agents=["random"])
    assert words in problems(folder)


def test_a_cost_that_ends_a_unit_is_the_agents_word(tmp_path, monkeypatch):
    """It may be true, so nothing is wrong; but nobody can check it."""
    text = SUITE.replace("{episodes: 3}", "{episodes: 3, max_cost: 5}")
    with monkeypatch.context() as patch:
        patch.setattr("ludus.bench.running.execute.play", play_with(fewer_by_its_cost))
        folder = played(tmp_path / "run", text, ["random"])
    found = list(verify_run(folder))
    assert {(one.result.verified, one.problems) for one in found} == {("claimed", ())}
    assert "only the agent knows its cost" in found[0].unchecked[0]
    assert {one.verified for one in folder.results()} == {"claimed"}


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 1},
        {"seconds": 0.001},
        {"cost": 5.0},
        {"episodes": 99},
        {"best_score": 1e9},
        {"source_hash": "0" * 64},
        {"run": "another"},
        {"created": "2020-01-01T00:00:00Z"},
        {"extra": {}},
    ],
    ids=str,
)
def test_fields_that_say_something_else_than_the_record(run, change):
    for path in run.glob("results/*.json"):
        edit(path, **change)
    (name,) = change
    assert f"{name}: the result says" in problems(BenchFolder.open(run))


def forged(run, change):
    """Change every record and write its chain anew; results name the new heads."""
    from ludus.record import read_run

    for path in (run / "records").iterdir():
        forgery = Forgery(path)
        change(forgery)
        forgery.write()
        edit(run / "results" / f"{path.name}.json", head=read_run(path).head)
    return BenchFolder.open(run)


def two_claims(forgery):
    forgery.add("result", {**forgery.of("result")[0], "score": 500.0, "value": 500.0})


def no_claim(forgery):
    forgery.without(lambda kind, _: kind != "result")


def a_claim_that_is_none(forgery):
    forgery.of("result")[0]["unit"] = {"suite": {"nested": []}}


def a_claim_without_counts(forgery):
    del forgery.of("result")[0]["counted"]


def a_fault_and_a_score(forgery):
    forgery.of("result")[0]["agent_fault"] = None


def a_text_for_steps(forgery):
    forgery.of("result")[0]["steps"] = "many"


def rewards(forgery):
    for block in forgery.of("block"):
        block["reward"] = block["reward"] * 2


@pytest.mark.parametrize(
    "change",
    [two_claims, no_claim, a_claim_that_is_none, a_claim_without_counts, a_fault_and_a_score,
     a_text_for_steps, rewards],
)  # fmt: skip
def test_records_that_say_something_else(run, change):
    assert problems(forged(run, change))


def test_a_statement_of_a_key_that_is_not_trusted(run, tmp_path):
    """Also not if the folder brings a key and a list of trusted keys along."""
    folder = BenchFolder.open(run)
    for path in (run / "verifications").iterdir():
        path.unlink()
    stranger = generate_key(tmp_path / "stranger")
    list(verify_run(folder, key=stranger))
    for name in ("trusted_keys", "verifications/trusted_keys"):
        (run / name).write_text(f"{stranger.public.hex}\n")
    assert {one.verified for one in folder.results()} == {"claimed"}
    assert {one.verified for one in folder.results(trusted_keys=[stranger.public])} == {"verified"}


def test_a_statement_under_the_name_of_a_trusted_key(run, tmp_path):
    """The file is called by the trusted key, and so is its content; the signature is another's."""
    folder = BenchFolder.open(run)
    (path,) = (run / "verifications").iterdir()
    (statement,) = read_statements(run, trusted_keys())
    for result in run.glob("results/*.json"):
        edit(result, score=501.0, best_score=501.0)
    rows = [replace(one, result=folder.result(one.id).digest) for one in statement.findings]
    about = {name: getattr(statement, name) for name in ("run", "plan", "suite", "suite_digest")}
    lie = sign_statement(generate_key(tmp_path / "stranger"), rows, **about)
    for forgery in (lie, replace(lie, public_key=own_key().public.hex),
                    replace(statement, findings=tuple(rows))):  # fmt: skip
        path.write_bytes(forgery.to_bytes())
        assert {one.verified for one in folder.results()} == {"claimed"}
    path.write_bytes(statement.to_bytes())
    assert {one.verified for one in folder.results()} == {"claimed"}


def test_a_genuine_statement_about_another_run(run, tmp_path):
    """The same units, played again with another outcome and under the same name."""
    other = played(tmp_path / "other", SUITE.replace("[heuristic, random]", "[heuristic]"))
    shutil.copytree(run / "verifications", other.path / "verifications")
    assert {one.verified for one in other.results()} == {"claimed"}


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan["suite"]["environments"][0]["reference"].update(max=30),
        lambda plan: plan["suite"].update(seeds=[0]),
        lambda plan: plan["agents"][0].update(name="genius"),
        lambda plan: plan["units"].pop(),
        lambda plan: plan["units"].reverse(),
        lambda plan: plan["units"].append(plan["units"][0]),
        lambda plan: plan["suite"]["budget"].update(episodes=4),
        lambda plan: plan["missing"].append({"env": "CartPole-v1", "reason": "x", "install": "y"}),
        lambda plan: plan.update(name="another"),
    ],
)
def test_a_plan_that_was_changed_afterwards(run, change):
    """What was verified was another plan; verified again, what does not fit is named."""
    plan = json.loads((run / "bench.json").read_text())
    change(plan)
    (run / "bench.json").write_text(json.dumps(plan))
    folder = BenchFolder.open(run)
    assert {one.verified for one in folder.results()} <= {"claimed"}
    assert problems(folder)


def test_bad_results_that_are_taken_out_are_missed(run):
    """What is left is verified, and what is not there any more is known."""
    folder = BenchFolder.open(run)
    worst = min(folder.results(), key=lambda one: one.score)
    (run / "results" / f"{worst.id}.json").unlink()
    told = folder.standing()
    assert told.missing(folder.results()) == {(folder.name, worst.id)}


def test_a_bad_score_told_as_a_fault_of_the_infrastructure(run):
    """It would count nowhere; its record gives it away."""
    folder = BenchFolder.open(run)
    worst = min(folder.results(), key=lambda one: one.score)
    path = run / "results" / f"{worst.id}.json"
    edit(path, outcome="infrastructure_fault", score=None, best_score=None, reason="lightning")
    assert [one.verified for one in folder.results()].count("verified") == 3
    found = {one.result.id: one for one in verify_run(folder)}[worst.id]
    assert found.result.verified == "failed"
    assert "has a record" in found.problems[0]


def test_statements_are_not_written_through_links(run, tmp_path):
    shutil.rmtree(run / "verifications")
    (tmp_path / "elsewhere").mkdir()
    (run / "verifications").symlink_to(tmp_path / "elsewhere")
    folder = BenchFolder.open(run)
    with pytest.raises(Exception, match="No statement can be kept"):
        list(verify_run(folder))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert {one.verified for one in folder.results()} == {"claimed"}


def test_files_that_are_no_statements(run):
    """A pipe, a link, an endless or a deep file: passed over, without waiting for any of them."""
    import os

    (path,) = (run / "verifications").iterdir()
    content, start = path.read_bytes(), path.name.partition("-")[0]
    path.unlink()
    os.mkfifo(run / "verifications" / f"{start}-1111111111111111.json")
    (run / "verifications" / f"{start}-2222222222222222.json").symlink_to("/dev/zero")
    with (run / "verifications" / f"{start}-3333333333333333.json").open("wb") as file:
        file.truncate(1 << 40)
    (run / "verifications" / f"{start}-4444444444444444.json").write_bytes(b"[" * 1_000_000)
    (run / "verifications" / f"{start}-5555555555555555.json").write_bytes(
        b'{"format": "ludus.verification"}'
    )
    folder = BenchFolder.open(run)
    assert {one.verified for one in folder.results()} == {"claimed"}
    (run / "verifications" / f"{start}-6666666666666666.json").write_bytes(content)
    assert {one.verified for one in folder.results()} == {"verified"}


def test_a_quick_look_takes_nothing_back(run):
    """Without a replay nothing is found out, so what was found out before stands."""
    folder = BenchFolder.open(run)
    found = list(verify_run(folder, replay=False))
    assert {one.result.verified for one in found} == {"claimed"}
    assert {one.verified for one in folder.results()} == {"verified"}
    again = list(verify_run(folder))
    assert len(list((run / "verifications").iterdir())) == 1
    assert {one.result.verified for one in again} == {"verified"}


def test_a_record_that_is_swapped_during_the_check(run, monkeypatch):
    """Executed is one record, counted another: all readings must be of the same."""
    folder = BenchFolder.open(run)
    first = sorted((run / "records").iterdir())[0]
    honest = {path.name: path.read_bytes() for path in first.iterdir()}
    forgery = Forgery(first)
    forgery.of("result")[0]["score"] = 501.0
    forgery.write()
    forged_head = read_run(first).head
    forged_files = {path.name: path.read_bytes() for path in first.iterdir()}
    edit(run / "results" / f"{first.name}.json", head=forged_head, score=501.0, best_score=501.0)

    def put(files):
        for name, content in files.items():
            (first / name).write_bytes(content)

    def swapping(*arguments, original=verify, **options):
        put(honest)
        try:
            return original(*arguments, **options)
        finally:
            put(forged_files)

    monkeypatch.setattr("ludus.bench.verifying.verification.verify", swapping)
    found = {one.result.id: one for one in verify_run(folder)}[first.name]
    assert found.result.verified == "failed"


def test_a_spoilt_copy_says_nothing_about_the_original(run, tmp_path):
    """Neither in the store, nor where another run of the same name is verified later."""
    folder = BenchFolder.open(run)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    plan = json.loads((copy / "bench.json").read_text())
    plan["units"].reverse()
    (copy / "bench.json").write_text(json.dumps(plan))
    with open_store(tmp_path / "store.sqlite") as store:
        store.add(folder.results())
        list(verify_run(folder, store=store))
        assert {one.result.verified for one in verify_run(BenchFolder.open(copy), store=store)} == {
            "failed"
        }
        assert {one.verified for one in store.results()} == {"verified"}
        for path in copy.glob("results/*.json"):
            edit(path, score=1.0, best_score=1.0)
        (copy / "bench.json").write_text((run / "bench.json").read_text())
        list(verify_run(BenchFolder.open(copy), store=store))
        assert {one.verified for one in store.results()} == {"verified"}


def test_seeds_that_were_chosen_afterwards(tmp_path):
    """Of a suite that everybody has, the luckiest seeds are no result of the suite's."""
    chosen = load_suite("classic").changed(seeds=[137, 4], episodes=1)
    run_suite(chosen, ["random"], out=tmp_path / "run", settings=SERIAL)
    found = list(verify_run(BenchFolder.open(tmp_path / "run")))
    assert {(one.result.verified, one.problems) for one in found} == {("claimed", ())}
    assert "they were chosen" in found[0].unchecked[0]


@pytest.fixture(scope="module")
def seven_seeds(tmp_path_factory):
    """A run of a bundled suite with two seeds more than it has."""
    path = tmp_path_factory.mktemp("seven") / "run"
    suite = load_suite("classic").changed(seeds=7, episodes=1)
    run_suite(suite, ["random"], out=path, settings=SERIAL)
    return path


def kept_only(source, target, keep):
    """Copy a run, and delete the results and records that are not to be kept."""
    shutil.copytree(source, target)
    for one in BenchFolder.open(target).results():
        if not keep(one):
            (target / "results" / f"{one.id}.json").unlink()
            shutil.rmtree(target / "records" / one.id)
    return BenchFolder.open(target)


def verdicts(folder):
    return {(one.result.env, one.result.seed): one for one in verify_run(folder)}


def test_bad_results_that_are_deleted_before_the_check(seven_seeds, tmp_path):
    """The luckiest seeds of many: what is left of an environment stays a claim."""
    cart = [one for one in BenchFolder.open(seven_seeds).results() if one.env == "CartPole-v1"]
    best = {one.seed for one in sorted(cart, key=lambda one: -one.score)[:3]}
    lacking = sorted(set(range(7)) - best)
    folder = kept_only(
        seven_seeds, tmp_path / "run", lambda one: one.env != "CartPole-v1" or one.seed in best
    )
    found = verdicts(folder)
    assert {env for (env, _), one in found.items() if one.result.verified == "claimed"} == {
        "CartPole-v1"
    }
    assert {one.result.verified for one in found.values()} == {"claimed", "verified"}
    (words,) = found["CartPole-v1", min(best)].unchecked
    assert words.startswith("seeds: incomplete; random on CartPole-v1 has no result for ")
    assert words.endswith(", ".join(map(str, lacking)))
    assert {one.verified for one in folder.results() if one.env == "CartPole-v1"} == {"claimed"}


def test_bad_results_told_as_faults_of_the_infrastructure_without_a_record(seven_seeds, tmp_path):
    shutil.copytree(seven_seeds, tmp_path / "run")
    folder = BenchFolder.open(tmp_path / "run")
    for one in folder.results():
        if one.seed == 0:
            path = tmp_path / "run" / "results" / f"{one.id}.json"
            fault = {"outcome": "infrastructure_fault", "score": None, "best_score": None}
            edit(path, **fault, reason="lightning", record=None, head=None)
            shutil.rmtree(tmp_path / "run" / "records" / one.id)
    assert {one.result.verified for one in verdicts(folder).values()} == {"claimed"}


def test_seeds_of_a_bundled_suite_count_without_further_ones(seven_seeds, tmp_path):
    """Nobody chose among the suite's own seeds; among those beyond, somebody may have."""
    folder = kept_only(seven_seeds, tmp_path / "run", lambda one: one.seed != 6)
    found = {(seed, one.result.verified) for (_, seed), one in verdicts(folder).items()}
    assert found == {*((seed, "verified") for seed in range(5)), (5, "claimed")}


def test_a_run_that_was_interrupted_is_verified_once_it_is_complete(run):
    shutil.rmtree(run / "verifications")
    folder = BenchFolder.open(run)
    lost = folder.results()[0]
    (run / "results" / f"{lost.id}.json").unlink()
    shutil.rmtree(run / "records" / lost.id)
    found = {(one.result.agent, one.result.verified) for one in verify_run(folder)}
    assert found == {("heuristic", "claimed"), ("random", "verified")}
    resume_run(run, settings=SERIAL)
    assert {one.result.verified for one in verify_run(folder)} == {"verified"}
    assert {one.verified for one in folder.results()} == {"verified"}


def leaving_out(monkeypatch, env):
    rows = [Missing(env, "needs acrobat>=3, which is not installed", "pip install acrobat")]
    monkeypatch.setattr("ludus.bench.planning.plan.missing_environments", lambda suite: rows)


def test_an_environment_that_is_said_to_be_missing_and_is_here(tmp_path, monkeypatch):
    """Left out because the agent is bad at it: it needs nothing that was not there."""
    suite = load_suite("classic").changed(seeds=1, episodes=1)
    with monkeypatch.context() as patch:
        leaving_out(patch, "Acrobot-v1")
        run_suite(suite, ["random"], out=tmp_path / "run", skip_missing=True, settings=SERIAL)
    found = list(verify_run(BenchFolder.open(tmp_path / "run")))
    assert {(one.result.verified, one.problems) for one in found} == {("claimed", ())}
    assert "Acrobot-v1 is left out as missing, and needs nothing" in found[0].unchecked[-1]


def test_an_environment_that_is_missing_elsewhere_may_be_left_out(tmp_path, monkeypatch):
    """Where a package was not installed, what could be played is a result all the same."""
    pytest.importorskip("mujoco")
    text = SUITE.replace("[heuristic, random]", "[random]") + "  - id: Ant-v5\n"
    with monkeypatch.context() as patch:
        leaving_out(patch, "Ant-v5")
        suite = parse_suite(text, "small.yaml")
        run_suite(suite, out=tmp_path / "run", skip_missing=True, settings=SERIAL)
    found = verify_run(BenchFolder.open(tmp_path / "run"))
    assert {one.result.verified for one in found} == {"verified"}


@pytest.mark.parametrize("name", ["score", "agent"])
def test_a_key_twice_in_a_result(run, name):
    """Other readers of JSON take the first of the two."""
    for path in run.glob("results/*.json"):
        path.write_text(path.read_text().replace("{", f'{{"{name}": 500.0, ', 1))
    with pytest.raises(BenchError, match=f"the key '{name}' occurs twice"):
        BenchFolder.open(run).results()


@pytest.mark.parametrize("place", ['"name": "small-', '"episodes": 3'])
def test_a_key_twice_in_a_plan(run, place):
    text = (run / "bench.json").read_text()
    key = place.split('"')[1]
    assert place in text
    (run / "bench.json").write_text(text.replace(place, f'"{key}": 1, {place}', 1))
    with pytest.raises(BenchError, match=f"the key '{key}' occurs twice"):
        BenchFolder.open(run)


@pytest.mark.parametrize(
    "damage",
    [
        {"agent": "🎲" * 300, "reason": None},
        {"agent": "[{" * 150},
        {"run": "\u202e" * 300},
        {"source_hash": "x" * 1001},
        {"source_hash": "[" * 100_000},
    ],
    ids=["wide", "brackets", "marks", "long source", "source of brackets"],
)
def test_a_failed_result_reads_as_failed_whatever_it_is_called(run, damage):
    for path in run.glob("results/*.json"):
        edit(path, **{name: value for name, value in damage.items() if value is not None})
    folder = BenchFolder.open(run)
    assert {one.result.verified for one in verify_run(folder)} == {"failed"}
    statements = read_statements(run, trusted_keys())
    assert all(one.is_genuine() for one in statements)
    failed = [row for one in statements for row in one.findings if row.verdict == "failed"]
    assert {row.result for row in failed} == {folder.result(row.id).digest for row in failed}
    assert len(failed) == 4


def test_a_failed_result_that_names_no_record_reads_as_failed(run, tmp_path):
    """With nothing to look it up by, it would be a claim, and the best one on the board."""
    for path in run.glob("results/*.json"):
        edit(path, score=500.0, best_score=500.0, head=None)
    folder = BenchFolder.open(run)
    with open_store(tmp_path / "s.sqlite", trusted_keys=trusted_keys()) as store:
        store.add(folder.results())
        assert {one.result.verified for one in verify_run(folder, store=store)} == {"failed"}
        assert {one.verified for one in folder.results()} == {"failed"}
        (board,) = store.leaderboard()
        assert [(row.results, row.refuted) for row in board.rows] == [(0, 2), (0, 2)]


def test_different_agents_under_one_name(tmp_path):
    """Both runs are verified, and one of them lends its scores to the other."""
    with open_store(tmp_path / "s.sqlite", trusted_keys=trusted_keys()) as store:
        for use in ("heuristic", "constant:0"):
            folder = played(tmp_path / use[:5], agents=[f"champion={use}"])
            store.add(folder.results())
            assert {one.result.verified for one in verify_run(folder, store=store)} == {"verified"}
        (board,) = store.leaderboard(verified_only=True)
        assert "Different code or options under one name, in one row: champion." in board.notes
        (board,) = make_boards(tally_results(store.results()))
        assert "Different code or options under one name, in one row: champion." in board.notes


def test_decoys_beside_a_statement_are_removed(run):
    (path,) = (run / "verifications").iterdir()
    start = path.name.partition("-")[0]
    for number in range(20):
        (run / "verifications" / f"{start}-{number:016x}.json").write_bytes(b"x" * 1000)
    folder = BenchFolder.open(run)
    list(verify_run(folder))
    assert len(list((run / "verifications").iterdir())) == 1
    assert {one.verified for one in folder.results()} == {"verified"}


def test_a_suite_that_asks_for_billions(run):
    plan = json.loads((run / "bench.json").read_text())
    plan["suite"]["seeds"] = 10_000
    rows = [{"id": f"CartPole-v{n}"} for n in range(9_000)]
    plan["suite"]["environments"] = rows
    (run / "bench.json").write_text(json.dumps(plan))
    found = list(verify_run(BenchFolder.open(run)))
    assert {one.result.verified for one in found} == {"failed"}


RESIGNS = """#!/bin/sh
touch {ran}
while read -r line; do
    case "$line" in genmove*) printf '= resign\\n\\n';; *) printf '=\\n\\n';; esac
done
"""


@pytest.mark.parametrize("place", ["{}/engine", "./engine"])
def test_a_suite_brings_no_program(tmp_path, monkeypatch, place):
    """What plays against the agent is a program, and an option says where it lies."""
    monkeypatch.chdir(tmp_path)
    program, ran = tmp_path / "engine", tmp_path / "ran"
    program.write_text(RESIGNS.format(ran=ran))
    program.chmod(0o755)
    options = f"{{path: {place.format(tmp_path)}}}"
    text = (
        "name: go\nseeds: 1\nbudget: {episodes: 1}\nenvironments:\n  - id: Go9x9-v0\n"
        f'    kwargs: {{opponent: "gnugo:10", engine_options: {options}}}\n'
    )
    folder = played(tmp_path / "run", text, ["constant:40"])
    assert [(one.outcome, one.score) for one in folder.results()] == [("scored", 1.0)]
    ran.unlink()
    assert {one.result.verified for one in verify_run(folder)} == {"claimed"}
    (record,) = (folder.path / "records").iterdir()
    assert not verify(record).passed
    assert not ran.exists()


def test_actions_that_no_agent_gets_through(tmp_path, monkeypatch):
    from ludus.bench.running import play as module

    text = SUITE.replace("CartPole-v1", "Pendulum-v1").partition("    reference")[0]
    with monkeypatch.context() as patch:
        patch.setattr(module, "action_reader", lambda space: lambda answer: answer * 0 + 9)
        folder = played(tmp_path / "run", text, ["random"])
    assert "outside of the action space" in problems(folder)


@pytest.mark.parametrize("dtype", ["float64", "uint32"])
def test_actions_of_another_dtype(tmp_path, monkeypatch, dtype):
    """The sum of unsigned squares, negated, is a reward of billions."""
    from ludus.bench.running import play as module
    from ludus.record.episodes import row_buffer

    text = SUITE.replace("CartPole-v1", "Pendulum-v1").partition("    reference")[0]
    with monkeypatch.context() as patch:
        patch.setattr(module, "action_reader", lambda _: lambda answer: np.ones(1, dtype))
        patch.setattr(row_buffer, "_rows", lambda column, count, **_: column.rows(count))
        folder = played(tmp_path / "run", text, ["random"])
    assert f"of dtype {dtype}" in problems(folder)


def test_nothing_is_written_or_removed_behind_links(run, tmp_path):
    (run / "records").rename(tmp_path / "elsewhere")
    (run / "records").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BenchError, match="is a link"):
        resume_run(run, settings=SERIAL)


def test_two_keys_that_disagree(run, tmp_path):
    folder = BenchFolder.open(run)
    other = generate_key(tmp_path / "other")
    (statement,) = read_statements(run, trusted_keys())
    rows = [replace(one, verdict="failed") for one in statement.findings]
    about = {name: getattr(statement, name) for name in ("run", "plan", "suite", "suite_digest")}
    against = sign_statement(other, rows, **about)
    keys = [own_key().public, other.public]
    told = standing([statement, against], keys, plan=folder.digest)
    assert {told.of(one).verified for one in folder.results()} == {"failed"}


def test_statements_survive_their_bytes(run):
    (statement,) = read_statements(run, trusted_keys())
    again = Statement.from_bytes(statement.to_bytes())
    assert again == statement
    assert again.is_genuine()


def test_a_claim_counts_what_the_tally_counted():
    tally = UnitTally(returns=[1.0, 2.0], finished=[1.0, 2.0, 9.0], steps=7)
    unit = Unit("s", "d", agent=_Nobody(), env="CartPole-v1", seed=0, budget=_episodes(2))
    claim = claim_score(unit, tally, 1.0)
    assert (claim["score"], claim["value"], claim["counted"], claim["episodes"]) == (1.5, 4.0, 2, 3)


def _episodes(count):
    from ludus.bench.planning.budget import Budget

    return Budget(episodes=count)


class _Nobody:
    name, num_envs = "nobody", None

    @staticmethod
    def identity():
        return {}
