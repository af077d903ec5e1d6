"""Attacks on imported tasks: by their sources, by agents, and by what their tests write."""

from __future__ import annotations

import os
import sys

import pytest

from ludus.errors import SubmissionRejected, TaskError
from ludus.research.importing import ImportOptions, import_task
from ludus.research.importing.inside import mle_bench
from ludus.research.importing.inside.harbor import read_reward
from ludus.research.importing.source_files import source_tree
from ludus.research.task.discovery import load_task
from tests.research.importing.test_importing import (
    TEST_SH,
    TOML,
    competition,
    counted,
    graded,
    harbor,
    sandboxed,
)

__all__ = ["competition", "harbor"]


@pytest.mark.parametrize("name", ["pyproject.toml", "package.json", "a/PyProject.TOML"])
def test_settings_that_name_programs_are_programs(harbor, tmp_path, name):
    """pytest and npm take options and commands from them: with --collect-only all tests pass."""
    with pytest.raises(TaskError, match="is a program"):
        import_task(
            harbor, tmp_path / "made", format="harbor", options=ImportOptions(submit=(name,))
        )


@pytest.mark.parametrize(
    "text",
    ['{"reward": 1' + "0" * 400 + "}", '{"a": 1, "b": 1}', '{"reward": [1]}', '{"reward": true}',
     '{"reward": NaN}', '{"reward": 1e999}', "[" * 5000, '{"reward": "1"}', "{}"],
    ids=lambda text: text[:14],
)  # fmt: skip
def test_named_rewards_are_checked(tmp_path, text):
    (tmp_path / "reward.txt").write_text("1")
    (tmp_path / "reward.json").write_text(text)
    with pytest.raises(ValueError, match=r"reward\.json|too large"):
        read_reward(tmp_path, 0, 1)


def test_rewards_in_pipes_and_links(tmp_path):
    os.mkfifo(tmp_path / "reward.txt")
    with pytest.raises(OSError, match="not a regular file"):
        read_reward(tmp_path, 0, 1)
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path)
    with pytest.raises(ValueError, match="link"):
        read_reward(linked, 0, 1)


def plant(kind, place):
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "sparse":
        with place.open("wb") as file:
            file.truncate(1 << 40)
    elif kind == "device":
        place.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "link", "sparse", "device"])
@pytest.mark.parametrize("where", ["task.toml", "instruction.md", "tests/x", "environment/x"])
def test_what_is_no_plain_file_in_a_source_is_refused(harbor, tmp_path, where, kind):
    plant(kind, harbor / where)
    with pytest.raises(TaskError):
        import_task(harbor, tmp_path / "made", format="harbor")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("folder", ["tests", "environment", "solution"])
def test_a_folder_of_a_source_that_is_a_link_is_refused(harbor, tmp_path, folder):
    (harbor / folder).rename(tmp_path / "elsewhere")
    (harbor / folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TaskError, match="is a link"):
        import_task(harbor, tmp_path / "made", format="harbor")


@pytest.mark.parametrize(
    "path",
    ["/app/../../etc/x.txt", "../x.txt", "/etc/x.txt", "/app/a/../../x.txt", "a\\0.txt", ""],
)  # fmt: skip
def test_paths_of_artefacts_lead_nowhere_else(harbor, tmp_path, path):
    (harbor / "task.toml").write_text(TOML.replace("/app/result.txt", path))
    with pytest.raises(TaskError):
        import_task(harbor, tmp_path / "made", format="harbor")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "line",
    ["COPY ../../../etc/passwd /app/", "COPY numbers.txt /app/../../x", "COPY / /app/",
     "ADD https://example.org/x /app/", "COPY numbers.txt ../../x", "COPY --from=x / /app",
     "COPY numbers.txt /app/../x"],
)  # fmt: skip
def test_copies_of_a_dockerfile_lead_nowhere_else(harbor, tmp_path, line):
    (harbor / "environment" / "Dockerfile").write_text(f"FROM x\nWORKDIR /app\n{line}\n")
    made = tmp_path / "made"
    import_task(harbor, made, format="harbor")
    assert source_tree(made / "workspace").keys() <= {"numbers.txt"}
    assert {path.name for path in tmp_path.iterdir()} == {"source", "made"}


def test_a_file_that_is_copied_to_the_working_folder_itself(harbor, tmp_path):
    (harbor / "environment" / "Dockerfile").write_text(
        "FROM x\nWORKDIR /app\nCOPY numbers.txt /app\nCOPY numbers.txt .\n"
    )
    import_task(harbor, tmp_path / "made", format="harbor")
    assert source_tree(tmp_path / "made" / "workspace").keys() == {"numbers.txt"}


def test_odd_imports_in_a_source(harbor, tmp_path, monkeypatch):
    """Of the program that runs, no specification is known."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    (harbor / "tests" / "more.py").write_text("import __main__, __mp_main__, os\n")
    import_task(harbor, tmp_path / "made", format="harbor")
    assert load_task(tmp_path / "made").config.packages == ("pytest",)


def test_importing_runs_nothing_of_a_source(competition, tmp_path, monkeypatch):
    """Not even where the source is the current folder, and has modules that it imports."""
    source, raw = competition
    (source / "innocent.py").write_text("raise SystemExit('it ran')\n")
    (source / "grade.py").write_text("import innocent\n" + (source / "grade.py").read_text())
    monkeypatch.chdir(source)
    monkeypatch.syspath_prepend("")
    import_task(source, tmp_path / "made", format="mle-bench", options=ImportOptions(data=raw))
    assert (tmp_path / "made" / "task.yaml").exists()
    assert "innocent" not in sys.modules


@sandboxed
def test_tests_that_write_no_reward_are_no_excuse(harbor, tmp_path):
    """They end before they do, on wrong answers only."""
    (harbor / "tests" / "test.sh").write_text(TEST_SH.replace("#!/bin/bash", "set -e"))
    import_task(harbor, tmp_path / "made", format="harbor")
    assert counted(tmp_path / "made", "echo 0 > result.txt") == ("scored", 0.0)
    # Tests that are killed tell nothing, and are no fault of the infrastructure either.
    (tmp_path / "made" / "grader" / "tests" / "test.sh").write_text(
        "grep -q ^42 result.txt || [ ! -s result.txt ] || kill -9 $$; exit 1"
    )
    assert counted(tmp_path / "made", "echo 0 > result.txt") == ("agent_fault", 0.0)


@pytest.mark.parametrize("header", [b"," * 10_000, b'"a\nb"' + b"," * 10_000])
def test_a_table_with_very_many_columns(header, monkeypatch):
    """pandas would take more than a minute for 300,000."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(pandas, "read_csv", None)
    with pytest.raises(SubmissionRejected, match="no table"):
        mle_bench._table(header)


def table(raw, rows):
    """Return right answers, in the form id -> y, for some of the competition's ids."""
    lines = (raw / "all.csv").read_text().splitlines()[21:]
    answers = {line.split(",")[0]: line.split(",")[2] for line in lines}
    return "id,y\n" + "".join(f"{spelt},{answers[of]}\n" for spelt, of in rows)


@sandboxed
def test_rows_of_a_competition_that_are_left_out_or_count_twice(competition, tmp_path):
    """The imported function takes the mean of the rows that it finds."""
    source, raw = competition
    text = (source / "grade.py").read_text()
    (source / "grade.py").write_text(
        text.replace("    both", "    submission['id'] = submission['id'].astype(int)\n    both")
    )
    made = tmp_path / "made"
    import_task(source, made, format="mle-bench", options=ImportOptions(data=raw))
    whole = [(str(i), str(i)) for i in range(20, 30)]
    assert graded(made, {"submission.csv": table(raw, whole).encode()}).score == 0.0
    for rows in (
        [("21", "21")],
        [*whole, ("021", "21"), ('" 21"', "21")],
        [*whole, *((f'"+{"0" * n}21"', "21") for n in range(9))],
        [*whole, *((f'"2_{"1"}"', "21"),)],
    ):
        outcome = graded(made, {"submission.csv": table(raw, rows).encode()})
        assert outcome.kind == "agent_fault", rows


@sandboxed
def test_predictions_of_a_competition_that_are_missing(competition, tmp_path):
    """The mean of pandas is that of the others."""
    source, raw = competition
    made = tmp_path / "made"
    import_task(source, made, format="mle-bench", options=ImportOptions(data=raw))
    head, first, *others = table(raw, [(str(i), str(i)) for i in range(20, 30)]).splitlines()
    for value in ("", "nan", "inf", "easy"):
        rows = [head, first, *(f"{line.partition(',')[0]},{value}" for line in others)]
        outcome = graded(made, {"submission.csv": "\n".join(rows).encode()})
        assert outcome.kind == "agent_fault", value
