"""What an image of a task is built from."""

from __future__ import annotations

import numpy
import pytest

from ludus.errors import TaskError
from ludus.research import load_task
from ludus.research.images.containerfile import recipe_of
from tests.research.env_support import write_task


def test_a_recipe_pins_the_packages_that_the_task_declares(tmp_path):
    folder = write_task(tmp_path / "t")
    with (folder / "task.yaml").open("a") as file:
        file.write("image: lab/tasks:1\npackages: [numpy]\n")
    recipe = recipe_of(load_task(folder))
    lines = recipe.requirements.splitlines()
    assert f"numpy=={numpy.__version__}" in lines
    assert all(line.count("==") == 1 for line in lines)
    assert not any(line.startswith(("ludus", "scipy")) for line in lines)
    assert recipe.tag == "lab/tasks:1"
    assert "FROM python:" in recipe.containerfile
    recipe.write(tmp_path / "image")
    assert {path.name for path in (tmp_path / "image").iterdir()} == {
        "Containerfile",
        "requirements.txt",
    }
    with pytest.raises(TaskError, match="not empty"):
        recipe.write(tmp_path / "image")
    with pytest.raises(ValueError, match="expected the name of an image"):
        recipe_of(load_task(folder), "x\nRUN evil")
