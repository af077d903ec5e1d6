from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ludus
from ludus.cli.app import app
from ludus.record import read_run
from tests.interop.recorded import record_single


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["record", *(str(item) for item in arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 100)
    return tmp_path / "run"


def test_parquet_there_and_back(folder: Path, tmp_path: Path) -> None:
    done = run("export", folder, tmp_path / "a.parquet", "--to", "parquet", "--observations")
    assert (done.exit_code, done.output.lstrip()) == (0, "100 steps\n")  # older rich: a blank line
    done = run("import", tmp_path / "a.parquet", tmp_path / "back")
    assert (done.exit_code, done.output.lstrip()) == (0, "100 rows\n")
    assert read_run(tmp_path / "back").rows == 100


def test_minari_there_and_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    target = tmp_path / "mine" / "a-v0"
    done = run("export", folder, target, "--to", "minari", "--id", "mine/a-v0")
    assert done.exit_code == 0
    assert "left out: 1 " in done.output
    assert len(minari.load_dataset("mine/a-v0")) > 1
    done = run("import", target, tmp_path / "back")
    assert done.exit_code == 0
    assert "cannot be replayed" not in done.output
    done = run("import", target, tmp_path / "other", "--env", "CartPole-v1")
    assert "seeds of some episodes are unknown" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "RUN", "RUN", "--to", "parquet"),
        ("export", "RUN", "OUT", "--to", "minari"),
        ("export", "RUN", "OUT", "--to", "parquet", "--unfinished"),
        ("export", "RUN", "OUT-v0", "--to", "minari", "--no-observations"),
        ("export", "OUT", "OUT-v0", "--to", "minari"),
        ("export", "RUN", "OUT", "--to", "csv"),
        ("export", "RUN", "OUT"),
        ("import", "RUN", "OUT"),
        ("import", "RUN/manifest.json", "OUT"),
        ("import", "RUN/manifest.json", "OUT", "--env", "CartPole-v1"),
        ("import", "RUN", "OUT", "--import", "no.such.module"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: Any, folder: Path, tmp_path: Path) -> None:
    places = {"RUN": str(folder), "OUT": str(tmp_path / "out")}
    for name, place in places.items():
        arguments = [item.replace(name, place) for item in arguments]
    done = run(*arguments)
    assert done.exit_code == 2
    assert "rror" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
