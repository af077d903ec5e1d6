"""Grading again what an episode's record has kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ludus.errors import RecordError
from ludus.record.folder import Folder
from ludus.record.reading import RunReader
from ludus.record.verify import Check
from ludus.research.agent_box import agent_policy
from ludus.research.assessment import Assessment, Assessor, graded_in_boxes
from ludus.research.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.contract import Split
from ludus.research.running.log import ARTEFACTS
from ludus.research.running.options import EpisodeOptions
from ludus.research.running.story import Story
from ludus.research.secret import grader_seed
from ludus.research.task import Task

__all__ = ["Regrader"]

_Key = tuple[Split, tuple[tuple[str, str], ...], int | None]
# For sums whose order differs between processors.
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9


class Regrader:
    """Grades everything that an episode had graded.

    Args:
        reader: The record, whose files were checked.
        story: What it says.
        task: The task, which is the same as it was.
        backend: Of the boxes.
        unlimited: Whether they do without limits of memory and processors.
    """

    def __init__(
        self,
        reader: RunReader,
        story: Story,
        task: Task,
        *,
        backend: str | None = None,
        unlimited: bool = False,
    ) -> None:
        self._reader, self._story = reader, story
        self._task = CachedTask.of(task)
        # Not what the record says: it may come from somebody who wants all the memory there is.
        policy = agent_policy(task, EpisodeOptions(unlimited=unlimited).policy)
        grade = graded_in_boxes(policy, backend)
        self._assessor = Assessor(self._task, int(reader.manifest["subject"]["seed"]), grade)

    def check(self, progress: Callable[[int, int], None] | None = None) -> Check:
        """Return whether all scores come out again."""
        wanted: dict[_Key, list[tuple[int, Mapping[str, Any]]]] = {}
        for key, number, told in self._gradings():
            wanted.setdefault(key, []).append((number, told))
        seed, foreign = int(self._reader.manifest["subject"]["seed"]), 0
        for done, ((split, files, draw), claims) in enumerate(wanted.items()):
            if progress is not None:
                progress(done, len(wanted))
            try:
                found = self._assessor.grade(self._artefacts(dict(files)), split, draw)
            except RecordError as problem:
                return Check("replay", "failed", f"step {claims[0][0]}: {problem}")
            if found.outcome == "infrastructure_fault":
                return Check("replay", "skipped", f"it cannot be graded here: {found.reason:.500}")
            foreign += draw != grader_seed(self._task.id, seed, split)
            for number, told in claims:
                if difference := _difference(told, found):
                    return Check("replay", "failed", f"step {number}, {split}: {difference}")
        if progress is not None:
            progress(len(wanted), len(wanted))
        if not wanted:
            return Check("replay", "passed", "nothing was handed in that could be graded")
        whose = f", {foreign} of them with draws of another machine" if foreign else ""
        return Check("replay", "passed", f"{len(wanted)} gradings came out the same{whose}")

    def _gradings(self) -> Iterator[tuple[_Key, int, Mapping[str, Any]]]:
        """Yield split and files of all gradings, with the step and what is said of it."""
        for step in self._story.steps:
            splits: tuple[tuple[Split, Any], ...] = (
                ("validation", step["graded"]),
                ("test", step["final"]),
            )
            for split, told in splits:
                # Where nothing could be taken there are no files, and there must be no score.
                if told and told["outcome"] != "infrastructure_fault":
                    if not told["files"] and told["outcome"] != "scored":
                        continue
                    draw = told.get("draw")
                    if draw is not None and not (isinstance(draw, int) and 0 <= draw < 2**63):
                        raise RecordError(f"step {step['n']} names no draw: {draw!r:.40}")
                    yield (split, tuple(sorted(told["files"].items())), draw), step["n"], told

    def _artefacts(self, files: dict[str, str]) -> Artefacts:
        """Return the kept files; only those the record vouches for."""
        limits = {item.path: item.max_bytes for item in self._task.submission}
        found: dict[str, bytes] = {}
        with Folder(self._reader.path) as folder:
            for path, digest in files.items():
                kept = None
                if digest in self._story.files and path in limits:
                    kept = folder.read(f"{ARTEFACTS}/{digest}", limits[path])
                if kept is None:
                    raise RecordError(f"{path!r:.100} is not kept")
                found[path] = kept
        artefacts = Artefacts(found)
        if artefacts.digests != files:
            raise RecordError("what is kept are other files")
        return artefacts


def _difference(told: Mapping[str, Any], found: Assessment) -> str | None:
    if told["outcome"] != found.outcome:
        return f"the record says {told['outcome']}, now it is {found.outcome}"
    if found.score is None:
        return None
    said = told["score"]
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    if not is_number or not math.isclose(said, found.score, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE):
        return f"the record says {said!r:.40}, graded again it is {found.score!r}"
    return None
