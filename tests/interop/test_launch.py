from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludus.interop.gymnasium.launch import child_environment, run
from tests.interop.programs import SOURCE

PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _source_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))


def test_a_program_gets_ludus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import sys, gymnasium\n"
        "open('out', 'w').write(f'{gymnasium.__ludus__} {sys.argv[1:]} {sys.executable}')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run([str(script), "a", "b"]) == 0
    assert (tmp_path / "out").read_text() == f"True ['a', 'b'] {PYTHON}"


def test_exit_status() -> None:
    assert run([PYTHON, "-c", "raise SystemExit(7)"]) == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run([PYTHON, "-c", killed]) == 128 + signal.SIGKILL


def test_a_command_that_is_not_there(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["no-such-command-anywhere"]) == 127
    assert "no-such-command-anywhere" in capfd.readouterr().err


def test_no_command() -> None:
    with pytest.raises(ValueError, match="as-gymnasium"):
        run([])


def test_termination_is_passed_on(tmp_path: Path) -> None:
    child = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(60)"
    launcher = (
        "import sys; from ludus.interop.gymnasium.launch import run; "
        f"sys.exit(run([sys.executable, '-c', {child!r}]))"
    )
    parent = subprocess.Popen([PYTHON, "-c", launcher], cwd=tmp_path)
    while not (tmp_path / "ready").exists():
        assert parent.poll() is None
        time.sleep(0.02)
    parent.terminate()
    assert parent.wait(timeout=20) == 128 + signal.SIGTERM


def test_the_environment_is_extended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = child_environment()
    monkeypatch.setenv("PYTHONPATH", first["PYTHONPATH"])
    assert child_environment() == first
    assert first["PYTHONPATH"].split(os.pathsep)[1:] == [str(SOURCE)]
    monkeypatch.delenv("PYTHONPATH")
    assert os.pathsep not in child_environment()["PYTHONPATH"]


def test_the_users_own_sitecustomize_still_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("marker = 'mine'\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{SOURCE}")
    program = "import sitecustomize, gymnasium; print(sitecustomize.marker, gymnasium.__ludus__)"
    assert run([PYTHON, "-c", program]) == 0
    assert capfd.readouterr().out == "mine True\n"


def test_a_python_without_ludus_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    # -S leaves out site-packages, and with them an installed Ludus.
    assert run([PYTHON, "-S", "-c", "import sitecustomize"]) == 0
    assert "not installed" in capfd.readouterr().err


def test_the_pth_line_does_nothing_unless_asked() -> None:
    line = (SOURCE / "ludus_alias.pth").read_text().strip()
    assert "\n" not in line
    check = f"import sys; exec({line!r}); print('_ludus_alias' in sys.modules)"
    for value, expected in (("", "False"), ("0", "False"), ("1", "True")):
        out = subprocess.run(
            [PYTHON, "-c", check],
            env={**os.environ, "LUDUS_AS_GYMNASIUM": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == expected
