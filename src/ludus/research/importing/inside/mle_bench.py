"""Calls the functions of an imported competition, in sandboxes: ``prepare`` and ``grade``.

The competition's modules are imported under the names they have in MLE-bench; the few helpers they
use from there are in ``standins``.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading import Score, Split, Submission

__all__ = ["grade", "prepare"]

_STANDINS = Path(__file__).parent / "standins"
_SUBMISSION = "submission.csv"
_MOST_COLUMNS = 10_000


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:  # noqa: ARG001
    """Return the score of the submitted table.

    Raises:
        SubmissionRejected: It is no table, has not the sample's columns, or repeats an id.
        GradingFailed: The imported function returned something else than a number.
    """
    import pandas as pd  # type: ignore[import-untyped]

    home = Path(str(sys.modules["grade"].__file__)).parent
    settings = json.loads((home / "settings.json").read_text("utf-8"))
    function = _function(home, settings, "grade")
    invalid = importlib.import_module("mlebench.grade_helpers").InvalidSubmissionError
    answers = pd.read_csv(labels / "private" / settings["answers"])
    table = _table(submission.raw(_SUBMISSION))
    first = answers.columns[0]
    if first in table.columns and answers[first].is_unique:
        _check_ids(table[first], answers[first])
    _check_numbers(table, answers)
    try:
        value = function(table, answers)
    except invalid as problem:
        text = f"{_SUBMISSION} is invalid: {str(problem)[:500]}"
        raise SubmissionRejected(text, told=f"{_SUBMISSION} is invalid.") from None
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise GradingFailed(f"The grading function returned {value!r:.200}; expected a number.")
    return Score(float(value), {"rows": len(table)})


def _check_ids(given: Any, answers: Any) -> None:
    """Refuse ids that are missing, or there twice in whatever spelling.

    Many grading functions join tables by ids and score the rows that they find.
    """
    import pandas as pd

    def spelt(ids: Any) -> Any:
        if pd.api.types.is_numeric_dtype(answers):
            return pd.to_numeric(ids, errors="coerce")
        return ids.astype(str).str.strip()

    found, wanted = spelt(given), spelt(answers)
    problem = "" if found.is_unique else "has a value more than once"
    if found.isna().any():
        problem = "has values of another kind than the test data"
    elif not wanted.isin(found).all():
        problem = "lacks values of the test data"
    if problem:
        text = f"{_SUBMISSION}: the column {str(given.name)[:80]!r} {problem}."
        raise SubmissionRejected(text, told=text)


def _check_numbers(given: Any, answers: Any) -> None:
    """Refuse predictions that are no finite numbers where the answers are numbers.

    Means of pandas leave out what is missing.
    """
    import numpy as np
    import pandas as pd

    for name in given.columns.intersection(answers.columns):
        true = answers[name]
        if pd.api.types.is_bool_dtype(true) or not pd.api.types.is_numeric_dtype(true):
            continue
        if true.notna().all() and not np.isfinite(pd.to_numeric(given[name], "coerce")).all():
            text = f"{_SUBMISSION}: the column {str(name)[:80]!r} has no number in each row."
            raise SubmissionRejected(text, told=text)


def prepare(code: str, raw: str) -> None:
    """Make ``public`` and ``private`` in the current folder; runs in the preparation's sandbox."""
    home = Path(code)
    settings = json.loads((home / "settings.json").read_text("utf-8"))
    public, private = Path("public").absolute(), Path("private").absolute()
    public.mkdir()
    private.mkdir()
    _function(home, settings, "prepare")(Path(raw), public, private)


def _function(home: Path, settings: dict[str, Any], which: str) -> Callable[..., Any]:
    sys.path.insert(0, str(_STANDINS))
    package = importlib.import_module("mlebench.competitions")
    package.__path__.append(str(home / "competitions"))
    module, _, name = settings[which].partition(":")
    loaded = importlib.import_module(f"mlebench.competitions.{settings['id']}.{module}")
    function: Callable[..., Any] = getattr(loaded, name)
    return function


def _table(data: bytes) -> Any:
    import pandas as pd

    try:
        lines = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace", newline=""))
        if len(next(lines, [])) > _MOST_COLUMNS:  # pandas takes minutes for many more
            raise ValueError("too many columns")
        return pd.read_csv(io.BytesIO(data))
    except (csv.Error, ValueError, OverflowError, RecursionError) as problem:
        text = f"{_SUBMISSION} is no table: {type(problem).__name__}."
        raise SubmissionRejected(text, told=text) from None
