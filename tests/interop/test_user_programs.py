"""Programs as users of Gymnasium write them print the same with ``import ludus as gym``.

Each file of ``user_programs/`` is one program. It is run twice as it stands, but for the word
``gymnasium``, which becomes ``ludus`` in the second run. Programs share a process to save time;
each has its own namespace and registers ids of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.programs import run_script

PROGRAMS = sorted((Path(__file__).parent / "user_programs").glob("*.py"))
RUNNER = Path(__file__).with_name("user_programs_runner.py")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the folder of each library's outputs."""
    folders = {}
    for library in ("gymnasium", "ludus"):
        folders[library] = tmp_path_factory.mktemp(library)
        arguments = (library, str(folders[library]), *map(str, PROGRAMS))
        run_script(RUNNER, *arguments, aliased=False)
    return folders


def test_there_are_many_programs():
    assert len(PROGRAMS) >= 40
    assert all("gymnasium" in program.read_text() for program in PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_prints_the_same(program, outputs):
    theirs, ours = (
        (outputs[library] / program.with_suffix(".out").name).read_text()
        for library in ("gymnasium", "ludus")
    )
    assert theirs
    assert "FAILED" not in theirs
    assert ours == theirs
