"""Whatever is done to a run, ``verify`` says so, and says which check it failed."""

from __future__ import annotations

import ast
import dataclasses
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.record import (
    Run,
    SigningKey,
    Verification,
    generate_key,
    read_run,
    verify,
)
from ludus.record.episodes.record_episodes import RecordEpisodes, RecordVectorEpisodes
from ludus.record.format.event import Event
from ludus.registration import registry
from tests.record.tampering import Forgery, events_of, kinds_of, write_events


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return generate_key(tmp_path_factory.mktemp("keys") / "mine")


@pytest.fixture(scope="module")
def other_key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return generate_key(tmp_path_factory.mktemp("keys") / "other")


def record(path: Path, *, key: SigningKey | None = None, seed: int = 1) -> Path:
    """Record three episodes of five steps of a single environment."""
    env = ludus.make("CartPole-v1", max_episode_steps=5)
    recording = RecordEpisodes(env, path, key=key, block_rows=4, observations=True)
    with recording:
        for episode in range(3):
            recording.reset(seed=seed if episode == 0 else None)
            over = False
            while not over:
                _, _, terminated, truncated, _ = recording.step(recording.rows % 2)
                over = terminated or truncated
        recording._recorder.run.add_file("notes/free.txt", b"a free file")
        recording.add_result("mean_return", 5.0, episodes=3)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, key: SigningKey) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("runs")
    return {
        "unsigned": record(base / "unsigned"),
        "signed": record(base / "signed", key=key),
        "other": record(base / "other", seed=2),
        "other signed": record(base / "other signed", key=key, seed=2),
    }


@pytest.fixture
def tiny(tmp_path: Path, key: SigningKey) -> Path:
    """A signed run of a few rows."""
    env = ludus.make("CartPole-v1", max_episode_steps=3)
    with RecordEpisodes(env, tmp_path / "tiny", key=key) as recording:
        recording.reset(seed=0)
        for action in (0, 1, 0):
            recording.step(action)
        recording._recorder.run.add_file("notes/free.txt", b"a free file")
        recording.add_result("mean_return", 3.0)
    return tmp_path / "tiny"


@pytest.fixture
def run(runs: dict[str, Path], tmp_path: Path) -> Path:
    return copied(runs["unsigned"], tmp_path)


@pytest.fixture
def signed(runs: dict[str, Path], tmp_path: Path) -> Path:
    return copied(runs["signed"], tmp_path)


def copied(source: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(source, tmp_path / source.name))


def failures(found: Verification) -> set[str]:
    return {check.name for check in found.checks if check.status == "failed"}


def expect(path: Path, *names: str, **options: Any) -> Verification:
    """Verify, and see that these checks failed, and that the run as a whole did."""
    found = verify(path, **options)
    assert set(names) <= failures(found), found.checks
    assert found.failed
    assert found.verdict == "failed"
    return found


def test_what_nobody_touched_passes(runs: dict[str, Path], key: SigningKey, tmp_path: Path) -> None:
    assert verify(runs["unsigned"]).passed
    found = verify(runs["signed"], trusted_keys=[key.public])
    assert found.passed
    assert found["signature"].status == "passed"


# --- bytes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("manifest.json", {"manifest", "chain"}),
        ("events.jsonl", {"chain"}),
        ("blocks.bin", {"blocks"}),
        ("signature.json", {"signature"}),
        ("notes/free.txt", {"files"}),
    ],
)
def test_every_byte_counts(tiny: Path, name: str, checks: set[str]) -> None:
    file = tiny / name
    content = file.read_bytes()
    assert len(content) > 10
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        file.write_bytes(changed)
        found = verify(tiny, replay=False)
        assert failures(found) & checks, f"byte {position} of {name}: {found.checks}"
    file.write_bytes(content)
    assert verify(tiny).passed


@pytest.mark.parametrize("name", ["manifest.json", "events.jsonl", "blocks.bin", "signature.json"])
def test_every_length_counts(signed: Path, name: str) -> None:
    file = signed / name
    content = file.read_bytes()
    for length in {*range(0, len(content), 37), len(content) - 1}:
        file.write_bytes(content[:length])
        assert verify(signed, replay=False, require_signature=True).failed, length
    file.write_bytes(content + b"\0")
    assert verify(signed, replay=False).failed


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("manifest.json", "manifest"),
        ("events.jsonl", "chain"),
        ("blocks.bin", "blocks"),
        ("signature.json", "signature"),
        ("notes/free.txt", "files"),
    ],
)
def test_a_link_is_no_file(signed: Path, tmp_path: Path, name: str, check: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (signed / name).rename(elsewhere)
    (signed / name).symlink_to(elsewhere)
    expect(signed, check, replay=False)


def test_bytes_that_nobody_vouches_for(run: Path) -> None:
    with (run / "blocks.bin").open("ab") as file:
        file.write(bytes(64))
    expect(run, "blocks")


def test_a_listed_file_is_missing(run: Path) -> None:
    (run / "notes/free.txt").unlink()
    expect(run, "files")


def test_a_file_that_nobody_vouches_for_is_named(run: Path) -> None:
    (run / "more.txt").write_text("look at me")
    found = verify(run)
    assert found.passed
    assert "more.txt" in found["files"].detail


# --- events, without hashing anew -----------------------------------------------------------------


def test_a_dropped_event(run: Path) -> None:
    lines = events_of(run)
    for index in range(len(lines) - 1):
        write_events(run, lines[:index] + lines[index + 1 :])
        expect(run, "chain", replay=False)


def test_events_in_another_order(run: Path) -> None:
    lines = events_of(run)
    for index in range(len(lines) - 1):
        swapped = [*lines]
        swapped[index], swapped[index + 1] = swapped[index + 1], swapped[index]
        write_events(run, swapped)
        expect(run, "chain", replay=False)


def test_an_event_twice(run: Path) -> None:
    lines = events_of(run)
    for index in range(len(lines)):
        write_events(run, lines[: index + 1] + lines[index:])
        expect(run, "chain", replay=False)


def test_an_event_of_another_run(run: Path, runs: dict[str, Path]) -> None:
    lines, others = events_of(run), events_of(runs["other"])
    for index in range(len(lines)):
        write_events(run, [*lines[:index], others[index], *lines[index + 1 :]])
        expect(run, "chain", replay=False)


def test_the_end_of_another_run(run: Path, runs: dict[str, Path]) -> None:
    lines, others = events_of(run), events_of(runs["other"])
    write_events(run, lines[:4] + others[4:])
    expect(run, "chain")


def test_a_cut_tail(run: Path) -> None:
    lines = events_of(run)
    for count in range(1, len(lines)):
        write_events(run, lines[:count])
        expect(run, "closed", replay=False)


def test_a_torn_tail(run: Path) -> None:
    content = (run / "events.jsonl").read_bytes()
    (run / "events.jsonl").write_bytes(content[:-20])
    expect(run, "chain", "closed")


def test_something_after_the_end(run: Path) -> None:
    lines = events_of(run)
    write_events(run, [*lines, lines[1]])
    expect(run, "chain")


def test_an_event_without_a_chain(run: Path) -> None:
    lines = events_of(run)
    write_events(run, [*lines[:-1], b'{"kind":"result"}\n', lines[-1]])
    expect(run, "chain")


# --- whole files exchanged --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "check"),
    [("manifest.json", "chain"), ("events.jsonl", "chain"), ("blocks.bin", "blocks")],
)
def test_files_of_another_run(run: Path, runs: dict[str, Path], name: str, check: str) -> None:
    shutil.copy(runs["other"] / name, run / name)
    expect(run, check)


def test_the_signature_of_another_run(signed: Path, runs: dict[str, Path]) -> None:
    shutil.copy(runs["other signed"] / "signature.json", signed / "signature.json")
    expect(signed, "signature")


def test_a_signature_is_taken_away(signed: Path, key: SigningKey) -> None:
    (signed / "signature.json").unlink()
    expect(signed, "signature", trusted_keys=[key.public])
    expect(signed, "signature", require_signature=True)
    found = verify(signed)
    assert found.passed
    assert found["signature"].status == "skipped"


def test_a_signature_of_somebody_else(signed: Path, key: SigningKey, other_key: SigningKey) -> None:
    expect(signed, "signature", trusted_keys=[other_key.public])
    assert verify(signed, trusted_keys=[other_key.public, key.public]).passed
    expect(signed, "signature", trusted_keys=[])


def test_signed_again_by_somebody_else(
    runs: dict[str, Path], tmp_path: Path, key: SigningKey, other_key: SigningKey
) -> None:
    path = record(tmp_path / "run", key=other_key)
    assert verify(path).passed
    expect(path, "signature", trusted_keys=[key.public])


# --- everything hashed anew ---------------------------------------------------------------------


def first_block(forgery: Forgery) -> dict[str, Any]:
    return forgery.of("block")[0]


def change_reward(forgery: Forgery) -> None:
    reward = np.array(first_block(forgery)["reward"], np.float64)
    reward[2] = 100.0
    first_block(forgery)["reward"] = reward


def change_action(forgery: Forgery) -> None:
    block = first_block(forgery)
    block["action"] = ~block["action"]


def change_column(name: str) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        column = first_block(forgery)[name]
        column[1] = ~column[1]

    return change


def change_observation(forgery: Forgery) -> None:
    column = first_block(forgery)["observation"]
    column[3, 2] = np.nextafter(column[3, 2], np.float32(9))


def change_first_observation(forgery: Forgery) -> None:
    column = first_block(forgery)["reset_observation"]
    column.reshape(-1)[12] ^= 1


def change_seed(forgery: Forgery) -> None:
    forgery.of("reset")[0]["seed"] += 1


def change_options(forgery: Forgery) -> None:
    forgery.of("reset")[1]["options"] = {"low": -0.2, "high": 0.2}


def change_check(forgery: Forgery) -> None:
    forgery.of("reset")[0]["check"] ^= 1


def drop_reset(forgery: Forgery) -> None:
    forgery.events.remove(["reset", forgery.of("reset")[1]])


def double_reset(forgery: Forgery) -> None:
    event = ["reset", forgery.of("reset")[1]]
    forgery.events.insert(forgery.events.index(event), event)


def swap_blocks(forgery: Forgery) -> None:
    at = [index for index, (kind, _) in enumerate(forgery.events) if kind == "block"]
    events = forgery.events
    events[at[1]], events[at[2]] = events[at[2]], events[at[1]]


def double_a_row(forgery: Forgery) -> None:
    for columns in forgery.of("block")[-1:]:
        for name, column in columns.items():
            columns[name] = np.concatenate([column, column[-1:]])


def add_episode(forgery: Forgery) -> None:
    """Append rows that were never stepped, and the reset before them."""
    blocks = forgery.of("block")
    rows = sum(len(columns["reward"]) for columns in blocks)
    reset = {**forgery.of("reset")[1], "row": rows}
    last = next(i for i, (kind, _) in enumerate(forgery.events) if kind == "file")
    copied = {name: np.array(column) for name, column in blocks[0].items()}
    forgery.events[last:last] = [["reset", reset], ["block", copied]]


def add_column(forgery: Forgery) -> None:
    block = first_block(forgery)
    block["bonus"] = np.ones(len(block["reward"]))


def drop_column(forgery: Forgery) -> None:
    del first_block(forgery)["observation_check"]


def change_wrapper(forgery: Forgery) -> None:
    wrappers = forgery.manifest["subject"]["wrappers"]
    limit = next(row for row in wrappers if row["name"] == "TimeLimit")
    limit["kwargs"]["max_episode_steps"] = 3


def change_arguments(forgery: Forgery) -> None:
    forgery.manifest["subject"]["kwargs"]["sutton_barto_reward"] = True


def change_space(forgery: Forgery) -> None:
    forgery.manifest["subject"]["action_space"]["n"] = 3


def hide_observations(forgery: Forgery) -> None:
    forgery.manifest["subject"]["observations"] = False


REPLAY = {
    "a reward": change_reward,
    "an action": change_action,
    "terminated": change_column("terminated"),
    "truncated": change_column("truncated"),
    "the check of an observation": change_column("observation_check"),
    "an observation": change_observation,
    "a first observation": change_first_observation,
    "a seed": change_seed,
    "the options of a reset": change_options,
    "the check of a reset": change_check,
    "a dropped reset": drop_reset,
    "a doubled reset": double_reset,
    "blocks in another order": swap_blocks,
    "a doubled row": double_a_row,
    "an invented episode": add_episode,
    "an invented column": add_column,
    "a dropped column": drop_column,
    "a wrapper's argument": change_wrapper,
    "the environment's arguments": change_arguments,
    "a space": change_space,
    "observations said not to be there": hide_observations,
}


@pytest.mark.parametrize("name", REPLAY)
def test_hashed_anew_it_does_not_replay(run: Path, name: str) -> None:
    forgery = Forgery(run)
    REPLAY[name](forgery)
    forgery.write()
    found = expect(run, "replay")
    assert {found[each].status for each in ("manifest", "chain", "blocks")} == {"passed"}


@pytest.mark.parametrize("name", REPLAY)
def test_hashed_anew_the_signature_does_not_fit(signed: Path, name: str, key: SigningKey) -> None:
    forgery = Forgery(signed)
    REPLAY[name](forgery)
    forgery.write()
    expect(signed, "signature", trusted_keys=[key.public], replay=False)


def test_a_forgery_that_changes_nothing_passes(run: Path) -> None:
    Forgery(run).write()
    assert verify(run).passed


def claim(**changes: Any) -> Callable[[Forgery], None]:
    def change(forgery: Forgery) -> None:
        forgery.of("result")[0].update(changes)

    return change


def cut_last_episode(forgery: Forgery) -> None:
    """Forget the last block, and say nothing of it."""
    last = forgery.of("block")[-1]
    forgery.without(lambda kind, data: data is not last)


RESULTS = {
    "a better score": claim(value=5.5),
    "a slightly better score": claim(value=5.0001),
    "another metric": claim(metric="max_return", value=6.0),
    "an unknown metric": claim(metric="goodness", value=1.0),
    "a score of a subset": claim(episodes=2, value=6.0),
    "more episodes than there are": claim(episodes=4),
    "no number": claim(value="a lot"),
    "not a number": claim(value=float("nan")),
    "no metric": claim(metric=None),
    "a cut tail, closed again": cut_last_episode,
    "one more claim": lambda forgery: forgery.add("result", {"metric": "episodes", "value": 9}),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_forged_score(run: Path, name: str) -> None:
    forgery = Forgery(run)
    RESULTS[name](forgery)
    forgery.write()
    found = expect(run, "results")
    assert found["replay"].status == "passed"


@pytest.mark.parametrize("name", RESULTS)
def test_a_forged_score_of_a_signed_run(signed: Path, name: str) -> None:
    forgery = Forgery(signed)
    RESULTS[name](forgery)
    forgery.write()
    expect(signed, "signature", "results", replay=False)


def test_a_score_and_the_rewards_that_give_it(run: Path) -> None:
    forgery = Forgery(run)
    for block in forgery.of("block"):
        block["reward"] = np.full(len(block["reward"]), 2.0)
    forgery.of("result")[0]["value"] = 10.0
    forgery.write()
    found = expect(run, "replay")
    assert found["results"].status == "passed"
    assert "reward was 2.0, now it is 1.0" in found["replay"].detail


def test_a_forged_resume(run: Path, signed: Path) -> None:
    lines = events_of(run)
    assert "resume" not in kinds_of(run)
    at = kinds_of(run).index("reset", 2)
    forged = lines[at].replace(b'"kind":"reset"', b'"kind":"resume"')
    write_events(run, [*lines[:at], forged, *lines[at + 1 :]])
    expect(run, "chain")
    forgery = Forgery(signed)
    forgery.events.insert(3, ["resume", {"cut_bytes": 0, "cut_block_bytes": 0}])
    forgery.write()
    expect(signed, "signature")


def test_a_reset_undone_by_a_forged_resume(run: Path) -> None:
    forgery = Forgery(run)
    at = forgery.events.index(["reset", forgery.of("reset")[1]])
    forgery.events.insert(at + 1, ["resume", {"cut_bytes": 0, "cut_block_bytes": 0}])
    forgery.write()
    assert verify(run).failed


def test_a_clock_that_went_backwards_is_nobodys_fault(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(f"2026-01-01T00:00:{59 - index % 60:02}.000000Z" for index in range(1000))
    monkeypatch.setattr("ludus.record.format.event.now", lambda: next(times))
    Forgery(run).write()
    found: list[Event] = list(read_run(run).events)
    assert found[0].time > found[1].time
    assert verify(run).passed


# --- other code than was recorded ---------------------------------------------------------------


def test_another_version_of_the_id(run: Path) -> None:
    forgery = Forgery(run)
    forgery.manifest["subject"]["id"] = "CartPole-v0"
    forgery.write()
    expect(run, "spec")


def test_another_environment(run: Path) -> None:
    forgery = Forgery(run)
    forgery.manifest["subject"]["id"] = "Pendulum-v1"
    forgery.manifest["subject"]["registered"]["id"] = "Pendulum-v1"
    forgery.write()
    expect(run, "spec", "source", "replay")


def test_another_source(run: Path) -> None:
    forgery = Forgery(run)
    forgery.manifest["provenance"]["env"]["source"] = "0" * 64
    forgery.write()
    expect(run, "source")


def test_another_version_of_ludus(run: Path) -> None:
    forgery = Forgery(run)
    forgery.manifest["provenance"]["ludus"]["version"] = "99.0"
    forgery.write()
    expect(run, "source")


def test_no_word_about_the_source(run: Path) -> None:
    forgery = Forgery(run)
    del forgery.manifest["provenance"]
    forgery.write()
    expect(run, "source")


@pytest.fixture
def heavier(monkeypatch: pytest.MonkeyPatch) -> None:
    """CartPole under another gravity, registered with the same id."""
    spec = registry["CartPole-v1"]
    changed = dataclasses.replace(spec, entry_point=f"{__name__}:make_heavier")
    monkeypatch.setitem(registry, "CartPole-v1", changed)


def make_heavier(**kwargs: Any) -> Any:
    from ludus.envs.classic_control.cartpole import CartPoleEnv

    env = CartPoleEnv(**kwargs)
    env.gravity = 12.0
    return env


def test_an_id_that_means_something_else_here(run: Path, heavier: None) -> None:
    assert __name__ in sys.modules
    expect(run, "spec", "source", "replay")


def test_recorded_with_other_physics(tmp_path: Path) -> None:
    env = ludus.make("CartPole-v1")
    env.unwrapped.gravity = 12.0  # type: ignore[attr-defined]
    with RecordEpisodes(env, tmp_path / "run") as recording:
        recording.reset(seed=0)
        for _ in range(5):
            recording.step(1)
    found = expect(tmp_path / "run", "replay")
    assert "observation_check" in found["replay"].detail


def test_said_to_be_nondeterministic(run: Path) -> None:
    forgery = Forgery(run)
    forgery.manifest["subject"]["registered"]["nondeterministic"] = True
    change_reward(forgery)
    forgery.write()
    expect(run, "spec", "replay")


@pytest.mark.parametrize("field", ["kind", "unreplayable", "id"])
def test_who_escapes_the_replay_does_not_pass(run: Path, field: str) -> None:
    forgery = Forgery(run)
    change_reward(forgery)
    if field == "kind":
        forgery.manifest["kind"] = "something"
    else:
        forgery.manifest["subject"][field] = "Nowhere-v0"
    forgery.write()
    found = verify(run)
    assert found.verdict in ("unchecked", "failed")
    assert not found.passed


@pytest.mark.parametrize(
    ("point", "arguments"),
    [
        ("subprocess:Popen", {"args": ["touch", "TRAP"]}),
        ("os:system", {"command": "touch TRAP"}),
        ("builtins:exec", {}),
        ("ludus.record.run.run:Run", {}),
        ("ludus.record.episodes.recorder:Recorder", {}),
        ("x:y", {}),
        ("", {}),
    ],
)
def test_a_wrapper_that_is_none_is_not_called(
    run: Path, tmp_path: Path, point: str, arguments: dict[str, Any]
) -> None:
    forgery = Forgery(run)
    trap = tmp_path / "trap"
    text = str(arguments).replace("TRAP", str(trap))
    row = {"name": "Trap", "entry_point": point, "kwargs": ast.literal_eval(text)}
    forgery.manifest["subject"]["wrappers"].append(row)
    forgery.write()
    found = verify(run)
    assert not found.passed
    assert found["replay"].status == "skipped"
    assert "Trap" in found["replay"].detail
    assert not trap.exists()


@pytest.mark.parametrize(
    ("point", "argument"),
    [
        ("ludus.record.episodes.record_episodes:RecordEpisodes", "path"),
        ("ludus.record.episodes.record_episodes:RecordVectorEpisodes", "path"),
        ("ludus.record:RecordEpisodes", "path"),
        ("ludus.wrappers.rendering:RecordVideo", "video_folder"),
        ("ludus.wrappers:RecordVideo", "video_folder"),
        (f"{__name__}:RecordEpisodes", "path"),
    ],
)
def test_a_replay_writes_nothing(run: Path, tmp_path: Path, point: str, argument: str) -> None:
    forgery = Forgery(run)
    trap = tmp_path / "trap"
    row = {"name": "Trap", "entry_point": point, "kwargs": {argument: str(trap)}}
    forgery.manifest["subject"]["wrappers"].append(row)
    forgery.manifest["subject"]["kwargs"]["render_mode"] = "rgb_array"
    forgery.write()
    verify(run)
    assert not trap.exists()


# --- many environments --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vector_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vector") / "run"
    envs = ludus.make_vec("Pendulum-v1", 4, max_episode_steps=6, g=5.0)
    with RecordVectorEpisodes(envs, path, block_rows=8) as recording:
        recording.action_space.seed(0)
        recording.reset(seed=3)
        for _ in range(20):
            recording.step(recording.action_space.sample())
    assert verify(path).passed
    return path


def change_gravity(forgery: Forgery) -> None:
    forgery.manifest["subject"]["kwargs"]["g"] = 6.0


def change_number(forgery: Forgery) -> None:
    forgery.manifest["subject"]["num_envs"] = 3


def change_mode(forgery: Forgery) -> None:
    forgery.manifest["subject"]["autoreset_mode"] = "SameStep"


def swap_environments(forgery: Forgery) -> None:
    for columns in forgery.of("block"):
        columns["action"][:, [0, 1]] = columns["action"][:, [1, 0]]


def change_vector_seed(forgery: Forgery) -> None:
    forgery.of("reset")[0]["seed"] = [3, 4, 5, 7]


def narrow_actions(forgery: Forgery) -> None:
    for columns in forgery.of("block"):
        columns["action"] = columns["action"].astype(np.float16)


@pytest.mark.parametrize(
    "change",
    [
        change_gravity,
        change_mode,
        swap_environments,
        change_vector_seed,
        narrow_actions,
    ],
)
def test_many_environments_do_not_replay(
    vector_run: Path, tmp_path: Path, change: Callable[[Forgery], None]
) -> None:
    path = copied(vector_run, tmp_path)
    forgery = Forgery(path)
    change(forgery)
    forgery.write()
    expect(path, "replay")


def test_another_number_of_environments_does_not_pass(vector_run: Path, tmp_path: Path) -> None:
    path = copied(vector_run, tmp_path)
    forgery = Forgery(path)
    change_number(forgery)
    forgery.write()
    assert not verify(path).passed


def test_a_run_that_is_being_written_does_not_pass(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", kind="episodes", subject={}):
        expect(tmp_path / "run", "closed")
