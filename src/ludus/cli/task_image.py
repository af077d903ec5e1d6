"""``ludus task image``: say which image a task runs in, and write what it is built from."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ludus.cli import options
from ludus.cli.console import echo, failing_on
from ludus.errors import Error
from ludus.terminal_text import printable

if TYPE_CHECKING:
    from ludus.research.images.containerfile import Recipe
    from ludus.research.images.task_image import TaskImage
    from ludus.research.task.task import Task

__all__ = ["image_command"]


def image_command(
    task: Annotated[str, typer.Argument(help="Id, folder or file of the task.")],
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", help="New folder to write Containerfile and requirements.txt to."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="Image to begin with.", show_default="python:VERSION-slim"),
    ] = None,
    backend: options.Backend = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the image of a task, and whether it is on this machine.

        ludus task image ./my_task

        ludus task image ./my_task --out image

    With --out, write a Containerfile with the packages that the task declares, in the versions that
    are installed here, and say how to build it. Nothing is built or downloaded.
    Exit code 2 for wrong usage, or if a declared package is not installed.
    """
    from ludus.research.images.containerfile import recipe_of
    from ludus.research.images.task_image import find_task_image
    from ludus.research.task.discovery import load_task

    options.see_current_folder()
    with failing_on(Error, ValueError, OSError, most=4000):
        found = load_task(task)
        recipe = recipe_of(found, base)
        if out_folder is not None:
            recipe.write(out_folder)
    problem, image = "", None
    try:
        image = find_task_image(found, backend)
    except Error as missing:
        problem = str(missing)
    if as_json:
        echo(json.dumps(_plain(found, recipe, image, problem), indent=2))
        return
    if found.config.image is None:
        echo(f"{printable(found.id)} names no image: it runs in this machine's folders.")
    elif image is None:
        echo(printable(problem, 4000))
    else:
        echo(f"{image.name}: {image.digest} ({image.backend})")
        for source in image.sources:
            echo(f"  {printable(source)}")
    if out_folder is not None:
        engine = "docker" if backend == "docker" else "podman"
        _say_how_to_build(found, recipe.tag, out_folder, engine)
    elif image is None:
        echo("--out FOLDER writes what an image of the task is built from.")


def _plain(task: Task, recipe: Recipe, image: TaskImage | None, problem: str) -> dict[str, Any]:
    return {
        "task": task.id,
        "image": task.config.image,
        "here": None if image is None else {**image.plain(), "backend": image.backend},
        "problem": problem,
        "tag": recipe.tag,
        "requirements": recipe.requirements.splitlines(),
    }


def _say_how_to_build(task: Task, tag: str, folder: Path, engine: str) -> None:
    words = [engine, "build", "--tag", tag, str(folder)]
    echo(f"Build it: {printable(shlex.join(words), 2000)}")
    if task.config.image is None:
        echo(f"Then name it in {printable(str(task.file))}: image: {tag}")
