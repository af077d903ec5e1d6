from __future__ import annotations

import pytest

from ludus.bench.report.write import build_document
from ludus.bench.statistics import aup

from .samples import REFERENCES, RESEARCH, research, usual

LOWER = {"mlgym/3SATTime-v0"}


def section(results, **options):
    found = build_document(results, **options).sections
    return next((one for one in found if one.anchor == "aup"), None)


def test_only_for_research_tasks():
    assert section(usual(), references=REFERENCES) is None
    assert section([]) is None


def test_values_are_those_of_the_statistics():
    table = section(research(), references=RESEARCH).blocks[-2]
    submitted = {
        agent: {
            **{env: z + (o - z) * skill for env, (z, o) in RESEARCH.items()},
            "mlgym/titanicSurvival-v0": 0.8 if agent == "careful" else None,
        }
        for agent, skill in (("careful", 0.9), ("hasty", 0.4))
    }
    baseline = {env: zero for env, (zero, _) in RESEARCH.items()}
    wanted = aup(submitted, lower=LOWER, baseline=baseline, nonpositive="infeasible").values
    shown = {row[0].content.text: float(row[2].content) for row in table.rows}
    assert shown == pytest.approx(wanted, rel=1e-3)
    assert list(shown) == sorted(wanted, key=lambda agent: -wanted[agent])


def test_without_references():
    found = section(research(), lower=LOWER)
    assert {row[0].content.text for row in found.blocks[-2].rows} == {"careful", "hasty"}


def test_nothing_to_compare_by_ratio():
    results = [one for one in research() if one.env == "mlgym/3SATTime-v0"]
    results = [one for one in results if one.score is None]
    assert section(results, lower=LOWER) is None
