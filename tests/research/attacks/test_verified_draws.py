"""Records of runs whose submission foresaw what the grader drew."""

from __future__ import annotations

import json
import random

import pytest

from ludus.bench.running.folder import BenchFolder
from ludus.record import Run, read_run
from ludus.research import load_task
from ludus.research.grading.draws import Draws
from ludus.research.running.fresh_draws import compare
from ludus.research.running.regrading import Regrader
from ludus.research.running.story import tell
from ludus.research.running.verification import verify_episode, verify_research_run
from ludus.research.task.reward import Scale
from tests.research.grading.support import boxed
from tests.research.running.support import (
    GOOD,
    GUESS,
    UNLIMITED,
    answers,
    record_of,
    set_answer,
    start,
    task_files,
    write_script,
)

# The numbers that the grader of the sample task wants, drawn as it draws them.
FORESEEING = """\
import random
rng = random.Random("test {draw}")
wanted = [rng.randint(0, 31) for _ in range(20)]
game = -1
def guess(low, high, answers):
    global game
    game += not answers
    for number, how in answers:
        low, high = (low, number - 1) if how == "less" else (number + 1, high)
    return (low + high) // 2 if answers else wanted[game]
"""


def played(folder, source, **options):
    """Return the record of an episode in which a guesser was handed in."""
    script = write_script(folder / "s.yaml", [f"cat > guess.py <<'END'\n{source}END", "submit"])
    done = start(GUESS, "scripted", folder / "run", agent_options={"file": script}, **options)
    assert done.exit_code == 0, done.results[0].reason
    return record_of(folder / "run")


def checked(path, task=GUESS, **options):
    found = verify_episode(path, task=task, unlimited=UNLIMITED, **options)
    return {one.name: one for one in found.checks}, found


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """An honest record; where its score lies so low that fresh draws cannot tell, another."""
    for _ in range(4):
        found = played(tmp_path_factory.mktemp("honest"), GOOD, draws="private")
        if checked(found)[0]["draws"].status == "passed":
            break
    return found


@boxed
def test_an_honest_score_is_plausible(honest):
    checks, found = checked(honest)
    assert checks["draws"].status == "passed", checks["draws"].detail
    assert found.passed
    manifest = read_run(honest).manifest
    assert manifest["subject"]["draws"] == "private"
    kinds = [event.kind for event in read_run(honest).events]
    assert kinds[:4] == ["open", "draws", "tree", "act"]


@boxed
@pytest.mark.parametrize("source", [FORESEEING.format(draw=0), GOOD], ids=["foreseen", "honest"])
def test_public_draws_never_pass(tmp_path, source):
    path = played(tmp_path, source, draws="public")
    assert read_run(path).manifest["subject"]["draws"] == "public"
    (found,) = verify_research_run(
        BenchFolder.open(tmp_path / "run"), tasks=task_files(tmp_path / "run"), unlimited=UNLIMITED
    )
    if source == GOOD:
        assert (found.result.verified, found.problems) == ("claimed", ())
        assert found.unchecked == ("draws: the draws are public: everybody could foresee them",)
    else:
        assert found.result.verified == "failed"
        (problem,) = found.problems
        assert "fresh draws gave" in problem


@boxed
def test_a_nonce_that_its_operator_chose_does_not_pass(tmp_path, monkeypatch):
    """Whoever runs the episode can foresee everything; others grade with draws of their own."""
    chosen = Draws("5" * 64)
    monkeypatch.setattr(Draws, "begin", classmethod(lambda cls, kind: chosen))
    source = FORESEEING.format(draw=chosen.number("guessNumber", 0, "test", 0))
    path = played(tmp_path, source, draws="private")
    checks, found = checked(path)
    assert checks["replay"].status == "passed"
    assert (checks["draws"].status, found.verdict) == ("failed", "failed")
    assert "fresh draws gave" in checks["draws"].detail


@boxed
def test_a_validation_that_was_foreseen_does_not_pass(tmp_path, monkeypatch):
    """The best score of a run may be a validation's."""
    chosen = Draws("5" * 64)
    monkeypatch.setattr(Draws, "begin", classmethod(lambda cls, kind: chosen))
    draw = chosen.number("guessNumber", 0, "validation", 1)
    foreseeing = FORESEEING.format(draw=draw).replace("test", "validation")
    actions = [f"cat > guess.py <<'END'\n{foreseeing}END\nvalidate"]
    actions += [f"cat > guess.py <<'END'\n{GOOD}END", "submit"]
    script = write_script(tmp_path / "s.yaml", actions)
    how = {"agent_options": {"file": script}, "draws": "private"}
    done = start(GUESS, "scripted", tmp_path / "run", **how)
    assert done.results[0].best_score == 1.0
    reader = read_run(record_of(tmp_path / "run"))
    grader = Regrader(reader, tell(reader.events), load_task(GUESS), unlimited=UNLIMITED)
    found = grader.check_draws(fresh=4)
    assert (found.status, found.detail.split(":")[0]) == ("failed", "validation")


def rewritten(source, target, change):
    """Write a record anew, chain and all, with other events."""
    reader = read_run(source)
    own = {"format", "version", "id", "created", "kind", "subject"}
    fields = {key: value for key, value in reader.manifest.items() if key not in own}
    subject = json.loads(json.dumps(reader.manifest["subject"]))
    change("subject", subject)
    with Run.create(target, kind="research", subject=subject, **fields) as run:
        for event in reader.events:
            if event.kind == "file":
                run.add_file(event.data["path"], (source / event.data["path"]).read_bytes())
            elif event.kind not in ("open", "close"):
                data = json.loads(json.dumps(event.data))
                for kind, made in change(event.kind, data) or [(event.kind, data)]:
                    run.append(kind, made)
    return target


def other_nonce(kind, data):
    if kind == "draws":
        data["nonce"] = "0" * 64


def other_draw(kind, data):
    if kind == "step" and data["final"]:
        data["final"]["draw"] = 7


def no_nonce(kind, data):
    if kind == "draws":
        return [("note", {})]
    return None


def called_public(kind, data):
    if kind == "subject":
        data["draws"] = "public"


def called_nothing(kind, data):
    if kind == "subject":
        del data["draws"]


def nonce_twice(kind, data):
    return [(kind, data)] * 2 if kind == "draws" else None


def nonce_late(kind, data):
    if kind == "draws":
        return [("note", {})]
    if kind == "result":
        return [("draws", {"kind": "public", "nonce": ""}), (kind, data)]
    return None


def nonce_of_another_form(kind, data):
    if kind == "draws":
        data["nonce"] = ["0"] * 64


FORGERIES = {
    other_nonce: "draws",
    # With another draw the score is another one, unless both are the same by chance.
    other_draw: "replay or draws",
    no_nonce: "draws",
    called_public: "draws",
    called_nothing: "draws",
    nonce_twice: "results",
    nonce_late: "results",
    nonce_of_another_form: "results",
}


@boxed
@pytest.mark.parametrize("change", FORGERIES)
def test_a_forged_nonce_is_found(honest, tmp_path, change):
    path = rewritten(honest, tmp_path / "forged", change)
    checks, found = checked(path, regrade=FORGERIES[change] != "results")
    assert found.failed
    wanted = FORGERIES[change].split(" or ")
    assert "failed" in [checks[name].status for name in wanted], found.to_dict()


@boxed
def test_a_task_that_draws_nothing_must_come_out_the_same(tmp_path):
    task = answers(tmp_path)
    script = write_script(tmp_path / "s.yaml", [set_answer(0.8), "submit"])
    how = {"agent_options": {"file": script}, "draws": "private"}
    start(task, "scripted", tmp_path / "run", **how)
    path = record_of(tmp_path / "run")
    reader = read_run(path)
    grader = Regrader(reader, tell(reader.events), load_task(task), unlimited=UNLIMITED)
    found = grader.check_draws(fresh=2)
    assert (found.status, "2 fresh draws gave 0.8 to 0.8" in found.detail) == ("passed", True)


# --- the statistics ----------------------------------------------------------------------------

UP = Scale(threshold=1.0, baseline=0.0, floor=-1.0)
DOWN = Scale(threshold=0.0, baseline=1.0, floor=2.0, direction="lower")


def verdict(recorded, scores, scale=UP, **options):
    left = iter(scores)
    return compare(recorded, lambda: next(left), scale, **options).verdict


def test_scores_that_all_agree():
    assert verdict(0.5, [0.5] * 5) == "plausible"
    assert verdict(0.5 + 1e-10, [0.5] * 5) == "plausible"
    assert verdict(0.4, [0.5] * 5) == "plausible"
    assert verdict(0.51, [0.5] * 10) == "implausible"
    # Not before it was made sure of.
    assert verdict(0.51, [0.5] * 6 + [0.51] + [0.5] * 3) == "plausible"


def test_lower_scores_are_better_where_the_task_says_so():
    assert verdict(0.4, [0.5] * 10, DOWN) == "implausible"
    assert verdict(0.6, [0.5] * 5, DOWN) == "plausible"


def test_a_score_far_above_the_others_is_implausible():
    scores = [0.50, 0.51, 0.49, 0.505, 0.495] * 4
    assert verdict(0.9, scores) == "implausible"
    assert verdict(0.52, scores) == "plausible"


def test_a_submission_that_makes_its_scores_spread_does_not_pass():
    """It plays badly now and then where it notices that the draws are foreign ones."""
    scores = [0.25, -1.0, 0.25, -0.8, 0.25] * 32
    assert verdict(0.9, scores) == "unclear"
    assert verdict(0.25, scores) == "plausible"
    assert verdict(0.9, scores, Scale(threshold=1.0)) == "unclear"


def test_a_submission_that_wobbles_a_little_does_not_hide_a_foreseen_score():
    """It loses a fifth of the way now and then where draws are foreign: a wide interval."""
    rng = random.Random(2)
    found = [
        verdict(0.85, iter(lambda: 0.5 - (rng.random() < 0.35) * 0.2 + rng.gauss(0, 0.005), None))
        for _ in range(200)
    ]
    assert found.count("plausible") == 0


def test_honest_scores_are_hardly_ever_called_implausible():
    rng = random.Random(0)
    found = [
        verdict(rng.gauss(0.5, 0.01), iter(lambda: rng.gauss(0.5, 0.01), None)) for _ in range(4000)
    ]
    assert found.count("implausible") <= 4


def test_honest_scores_that_spread_are_hardly_ever_left_unclear():
    """One in twenty-one is better than twenty others; they are compared with more."""
    rng = random.Random(3)
    found = [
        verdict(rng.gauss(0.5, 0.1), iter(lambda: rng.gauss(0.5, 0.1), None)) for _ in range(2000)
    ]
    assert found.count("plausible") > 0.97 * len(found)


def test_a_good_score_now_and_then_does_not_hide_a_foreseen_one():
    """With foreign draws the submission is as good as its record once in a hundred times."""
    rng = random.Random(4)
    found = [
        verdict(0.9, iter(lambda: 0.9 if rng.random() < 0.01 else rng.gauss(0.5, 0.1), None))
        for _ in range(400)
    ]
    assert found.count("plausible") < 0.35 * len(found)


def test_the_best_of_many_validations_is_not_called_implausible():
    rng = random.Random(5)
    found = [
        verdict(
            max(rng.gauss(0.5, 0.005) for _ in range(20)),
            iter(lambda: rng.gauss(0.5, 0.005), None),
            tries=20,
        )
        for _ in range(2000)
    ]
    assert found.count("implausible") <= 10


def test_a_gain_of_ten_standard_errors_is_nearly_always_found():
    rng = random.Random(1)
    found = [verdict(0.6, iter(lambda: rng.gauss(0.5, 0.01), None)) for _ in range(500)]
    assert found.count("implausible") > 490


def test_one_fresh_score_says_nothing_about_a_spread():
    with pytest.raises(ValueError, match="at least 2"):
        verdict(0.5, [0.5], fresh=1)
