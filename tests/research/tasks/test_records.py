"""The solutions of bundled tasks score what is recorded, and the tasks are clean."""

from __future__ import annotations

import pytest

from ludus.research import load_task
from tests.research.tasks.playing import check_record, played
from tests.sampling import sampled
from tests.sandbox.support import needs

pytestmark = [needs("bubblewrap", root=True), pytest.mark.slow, pytest.mark.timeout(600)]

POLICIES = (
    *("rlBreakoutMinAtar", "rlMetaMaze", "rlMountainCarContinuous"),
    "rlMountainCarContinuousReinforce",
)
RECORDED = (
    *("3SATTime", "battleOfSexes", "blotto", "digits", "languageModelingCorpus"),
    *("prisonersDilemma", "regressionKaggleHousePrice", "titanicSurvival"),
    "regressionKaggleHousePriceL1",
    *POLICIES,
)


def kinds_of(task):
    """Return what a task asks for, and whether the grading takes place in environments."""
    return task in POLICIES, *sorted({item.kind for item in load_task(task).config.submission})


@pytest.mark.parametrize("task", sampled(RECORDED, 4, by=kinds_of))
def test_solutions_score_what_is_recorded(task):
    check_record(task)
    if task in POLICIES:
        total, info = played(task, "reference")
        assert total > 1  # beyond the threshold
        assert info["final"]["details"]["episodes"] == 1280
    if task == "3SATTime":
        base, best = (
            played(task, which)[1]["final"]["details"] for which in ("baseline", "reference")
        )
        assert base["satisfiable"] == best["satisfiable"]
        assert base["seconds"] > 0
