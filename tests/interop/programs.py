"""Running small programs in processes of their own, with or without Ludus as Gymnasium."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ludus.interop.gymnasium.launch import child_environment

SOURCE = Path(__file__).parents[2] / "src"


def check_program(code: str, tmp_path: Path, *, aliased: bool = True, timeout: float = 240) -> str:
    """Run ``code`` as a script and return what it printed; fail with its output if it fails."""
    script = tmp_path / "program.py"
    script.write_text(code)
    return run_script(script, aliased=aliased, timeout=timeout)


def run_script(script: Path, *arguments: str, aliased: bool = True, timeout: float = 240) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "LUDUS_AS_GYMNASIUM"}
    if aliased:
        environment.update(child_environment())
        environment["PYTHONPATH"] += f"{os.pathsep}{SOURCE}"
    else:
        environment["PYTHONPATH"] = str(SOURCE)
    environment.update(OMP_NUM_THREADS="1", SDL_VIDEODRIVER="dummy")
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=environment,
        cwd=script.parent,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
