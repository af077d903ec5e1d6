"""Attacks on the grader of tasks that name a metric only: none scores better than it should."""

from __future__ import annotations

import pytest

from ludus.errors import SubmissionRejected
from ludus.research.grading.by_metric import grader_of
from ludus.research.grading.submission import Submission

TRUTH = {
    "label": "id,y\n1,0\n2,1\n3,1\n",
    "number": "id,y\n1,0.5\n2,1.5\n3,-2\n",
    "classes": "id,y\n1,cat\n2,dog\n3,dog\n",
}


def scored(tmp_path, metric: str, truth: str, submitted: str) -> float:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "labels.csv").write_text(truth)
    (tmp_path / "submission.csv").write_bytes(submitted.encode())
    submission = Submission(tmp_path, {"submission.csv": "csv"}, None)
    return grader_of(metric, ["submission.csv"])(submission, tmp_path / "test", 0, "test").value


@pytest.mark.parametrize(
    ("metric", "truth", "submitted", "right"),
    [
        ("accuracy", "label", "id,y\n3,1.0\n1, 0\n2,+1\n9,1\n", 1.0),
        ("r2", "number", "id,y\n1,.5\n2,15e-1\n3,-2\n", 1.0),
        ("loss", "classes", "id,cat,dog\n1,1,0\n2,0,1\n3,0,1\n", 0.0),
        ("log loss", "label", "id,y\n1,0\n2,1\n3,1\n", 0.0),
    ],
)
def test_good_submissions(tmp_path, metric, truth, submitted, right):
    assert scored(tmp_path, metric, TRUTH[truth], submitted) == pytest.approx(right)


@pytest.mark.parametrize(
    ("metric", "truth", "submitted"),
    [
        # Identifiers: twice, missing, in other spellings, look-alikes of other scripts.
        ("accuracy", "label", "id,y\n1,0\n1,1\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y\n01,0\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y\n1 ,0\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y\n\uff11,0\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y\n1\u200b,0\n2,1\n3,1\n"),
        ("accuracy", "label", "id,y,y\n1,0,1\n2,1,1\n3,1,1\n"),
        ("accuracy", "label", "y,id\n0,1\n1,2\n1,3\n"),
        # Numbers: none, without end, so large that an error overflows, of other scripts.
        ("mse", "number", "id,y\n1,nan\n2,1.5\n3,-2\n"),
        ("mse", "number", "id,y\n1,inf\n2,1.5\n3,-2\n"),
        ("mse", "number", "id,y\n1,1e308\n2,-1e308\n3,-2\n"),
        ("r2", "number", "id,y\n1,1e200\n2,1.5\n3,-2\n"),
        ("rmse", "number", "id,y\n1,1e999\n2,1.5\n3,-2\n"),
        ("mape", "number", "id,y\n1,-1e308\n2,1.5\n3,-2\n"),
        ("mae", "number", "id,y\n1,0x1p-1\n2,1.5\n3,-2\n"),
        ("mae", "number", "id,y\n1,\uff10\n2,1.5\n3,-2\n"),
        ("mae", "number", "id,y\n1,1_0\n2,1.5\n3,-2\n"),
        # Probabilities: negative ones that sum to 1, too much, too little, of classes unknown.
        ("loss", "classes", "id,cat,dog\n1,2,-1\n2,-1,2\n3,-1,2\n"),
        ("loss", "classes", "id,cat,dog\n1,1,1\n2,1,1\n3,1,1\n"),
        ("loss", "classes", "id,cat,dog\n1,0,0\n2,0,0\n3,0,0\n"),
        ("loss", "classes", "id,cat,dog\n1,1e308,1e308\n2,0,1\n3,0,1\n"),
        ("loss", "classes", "id,cat,dog,bird\n1,1,0,0\n2,0,1,0\n3,0,1,0\n"),
        ("log_loss", "label", "id,y\n1,-5\n2,6\n3,6\n"),
    ],
)
def test_what_is_refused(tmp_path, metric, truth, submitted):
    with pytest.raises(SubmissionRejected):
        scored(tmp_path, metric, TRUTH[truth], submitted)


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("3", "0x3"), ("3", "3.5"), ("nan", "inf"), ("1e400", "1e401"), ("dog", "Dog"),
        ("dog", "d\u043eg"), ("9007199254740993", "9007199254740992"),
        ("100000000000000000001", "100000000000000000002"), ("0.1", "0.10000000000000002"),
        ("true", "1"), ("", "nan"),
    ],
)  # fmt: skip
def test_labels_that_are_almost_the_same(tmp_path, told, found):
    assert scored(tmp_path, "accuracy", f"id,y\n1,{told}\n", f"id,y\n1,{found}\n") == 0.0


def test_labels_without_identifiers_are_compared_row_by_row(tmp_path):
    with pytest.raises(SubmissionRejected):
        scored(tmp_path, "accuracy", "y\n0\n1\n", "y\n0\n1\n1\n")
