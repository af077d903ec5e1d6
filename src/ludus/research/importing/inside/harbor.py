"""Runs an imported ``tests/test.sh`` in the grader's sandbox and reads the reward it writes.

The sandbox is fresh: of the agent's it has the declared files only, so that there are no processes,
links, ``conftest.py`` or reward files of the agent's. The reward file is checked like any other
file from elsewhere: a regular file of limited size, with finite numbers within the bounds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from ludus.errors import GradingFailed
from ludus.foreign_files import read_regular
from ludus.research.grading import Score, Split, Submission
from ludus.research.importing.inside import verifier_tools
from ludus.research.importing.inside.programs import run_program
from ludus.untrusted.packages import PACKAGES

__all__ = ["grade", "read_reward"]

_TMP = Path("/tmp")  # noqa: S108 - the sandbox's own
_WORK = _TMP / "work"
_LONGEST = 64 << 10
_OWN_STATUS = 125
"""The largest with which a program ends by itself; beyond it was not run, or was killed."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:  # noqa: ARG001
    """Return the reward of the tests for the submitted files.

    Raises:
        GradingFailed: The tests take too long, or write no valid reward.
    """
    home = Path(str(sys.modules["grade"].__file__)).parent
    settings = json.loads((home / "settings.json").read_text("utf-8"))
    files = {path: submission.raw(path) for path in settings["paths"]}
    if not submission.folder.is_relative_to("/workspace"):
        raise GradingFailed("Imported tests need an isolating sandbox; 'process' is none.")
    shutil.rmtree(submission.folder)
    _WORK.mkdir()
    with zipfile.ZipFile(home / "files.zip") as archive:
        archive.extractall(_WORK)
    shutil.copytree(home / "tests", _TMP / "tests")
    for path, data in files.items():
        target = _WORK / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    logs = _TMP / "logs" / "verifier"
    logs.mkdir(parents=True)
    status, printed = _run_tests(float(settings["seconds"]))
    low, high = settings["bounds"]
    try:
        if 0 < status <= _OWN_STATUS and not any(logs.glob("reward.*")):
            # Failed tests may end the script before it writes a reward.
            value, rewards = float(low), {"reward": float(low)}
        else:
            value, rewards = read_reward(logs, low, high)
    except (OSError, ValueError) as problem:
        raise GradingFailed(
            f"The tests wrote no valid reward: {problem}\n{printed[-4000:]}"
        ) from None
    return Score(value, {"rewards": rewards, "code_beside_tests": settings["code_beside_tests"]})


def read_reward(logs: Path, low: float, high: float) -> tuple[float, dict[str, float]]:
    """Return the reward in a folder of logs, and all named ones.

    ``reward.json`` has numbers by name: ``reward`` counts, or the only one. ``reward.txt`` has one
    number.

    Raises:
        OSError: There is no such file, or it is a link, no regular file, or too large.
        ValueError: It holds something else, or a number that is out of bounds.
    """
    if logs.is_symlink() or logs.parent.is_symlink():
        raise ValueError("the folder of the reward is a link.")
    name = "reward.json" if os.path.lexists(logs / "reward.json") else "reward.txt"
    text = read_regular(logs / name, _LONGEST, follow=False).decode()
    try:
        found: Any = json.loads(text) if name == "reward.json" else {"reward": float(text)}
    except RecursionError:
        raise ValueError(f"{name} is nested too deep.") from None
    if not isinstance(found, dict) or not found:
        raise ValueError(f"{name} has no numbers by name.")
    for key, value in found.items():
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            raise ValueError(f"{name}: {key!r:.80} is {value!r:.80}; expected a finite number.")
    if "reward" not in found and len(found) != 1:
        raise ValueError(f"{name} has several numbers and none is called 'reward'.")
    value = float(found["reward"] if "reward" in found else next(iter(found.values())))
    if not low <= value <= high:
        raise ValueError(f"{name}: the reward is {value!r}; expected {low} to {high}.")
    return value, {str(key)[:80]: float(item) for key, item in list(found.items())[:100]}


def _run_tests(seconds: float) -> tuple[int, str]:
    """Run ``test.sh`` and return its status, and the end of what it printed."""
    tools, home = _TMP / "tools", _TMP / "home"
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "env").touch()
    verifier_tools.install(tools)
    environment = {
        "PATH": f"{tools}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": PACKAGES,
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # The script is the imported one, in a sandbox made for it.
    argv = ["/bin/bash", str(_TMP / "tests" / "test.sh")]
    return run_program("The tests", argv, _WORK, environment, seconds)
