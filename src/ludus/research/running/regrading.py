"""Grading again what an episode's record has kept."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ludus.errors import Error, RecordError
from ludus.record.run.reader import RunReader
from ludus.record.verify import RecordCheck
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.episode.assessment import Assessment, Assessor, graded_in_sandboxes
from ludus.research.grading.artefacts import OF_THE_HOST, Artefacts
from ludus.research.grading.draws import Draws, fresh_draw
from ludus.research.running.fresh_draws import FRESH, compare
from ludus.research.running.handed_in import kept_artefacts
from ludus.research.running.options import EpisodeOptions
from ludus.research.running.story import Story
from ludus.research.task.contract import Split
from ludus.research.task.task import Task

__all__ = ["Regrader"]

_Key = tuple[Split, tuple[tuple[str, str], ...], int | None]
# For sums whose order differs between processors.
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9


class _CannotGrade(Exception):
    """This machine cannot grade it, or what comes out is no number."""


class Regrader:
    """Repeats all gradings of an episode.

    Args:
        reader: The record, whose files were checked.
        story: Its contents.
        task: The task, unchanged.
        backend: Of the sandboxes.
        unlimited: Whether not to limit memory and processors.
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
        self._task, self._scale = CachedTask.of(task), task.scale
        # Not the recorded limits: a forged record could ask for all memory.
        policy = agent_policy(task, EpisodeOptions(unlimited=unlimited).policy)
        grade = graded_in_sandboxes(policy, backend)
        self._seed = int(reader.manifest["subject"]["seed"])
        self._assessor = Assessor(self._task, self._seed, grade)

    def check(self, progress: Callable[[int, int], None] | None = None) -> RecordCheck:
        """Return whether all scores are reproduced."""
        wanted: dict[_Key, list[tuple[int, Mapping[str, Any]]]] = {}
        for key, number, told in self._gradings():
            wanted.setdefault(key, []).append((number, told))
        for done, ((split, files, draw), claims) in enumerate(wanted.items()):
            if progress is not None:
                progress(done, len(wanted))
            try:
                artefacts = self._artefacts(dict(files))
            except RecordError as problem:
                return RecordCheck("replay", "failed", f"step {claims[0][0]}: {problem}")
            found = self._assessor.grade(artefacts, split, draw)
            if found.outcome == "infrastructure_fault":
                if self._is_only_this_one(artefacts, split, draw):
                    detail = f"only this submission cannot be graded here: {found.reason:.500}"
                    return RecordCheck(
                        "replay", "failed", f"step {claims[0][0]}, {split}: {detail}"
                    )
                return RecordCheck(
                    "replay", "skipped", f"it cannot be graded here: {found.reason:.500}"
                )
            for number, told in claims:
                if difference := _difference(told, found):
                    return RecordCheck("replay", "failed", f"step {number}, {split}: {difference}")
        if progress is not None:
            progress(len(wanted), len(wanted))
        if not wanted:
            return RecordCheck("replay", "passed", "nothing was handed in that could be graded")
        return RecordCheck("replay", "passed", f"{len(wanted)} gradings came out the same")

    def _is_only_this_one(self, artefacts: Artefacts, split: Split, draw: int | None) -> bool:
        """Whether a known-good submission is graded here, and this one fails again.

        A forged record may contain files that cause a fault. What the host lacks, such as disk
        space for large files, says nothing against a submission.
        """
        try:
            good = self._task.known_good(self._seed)
        except (Error, OSError):
            return False
        if good is None or self._assessor.grade(good, split, draw).outcome != "scored":
            return False
        again = self._assessor.grade(artefacts, split, draw)
        numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", again.reason)}
        lacks = "MemoryError" in again.reason or not numbers.isdisjoint(OF_THE_HOST)
        return again.outcome == "infrastructure_fault" and not lacks

    def check_draws(self, *, fresh: int = FRESH) -> RecordCheck:
        """Check whether the scores could have been reached without predicting the draws.

        The recorded draws must follow from the record's nonce. Its author may have chosen that, so
        the submission is graded again with new draws. The test score must be plausible among those,
        and so must the best validation's if it is better; see
        :mod:`ludus.research.running.fresh_draws`. Public draws never pass, since they are
        predictable.

        Args:
            fresh: Gradings with fresh draws, at least 2; more where the recorded score is better
                than all of them.
        """
        subject, draws = self._reader.manifest["subject"], self._story.draws
        if draws is None or subject.get("draws") != draws.kind:
            return RecordCheck(
                "draws", "failed", "the record does not say what its graders drew from"
            )
        if problem := self._wrong_draw(draws):
            return RecordCheck("draws", "failed", problem)
        told, unclear = ["nothing was scored that draws could have helped"], False
        for split, claim, tries in self._scored():
            artefacts = self._artefacts(dict(claim["files"]))
            try:
                found = compare(
                    float(claim["score"]),
                    partial(self._fresh, artefacts, split),
                    self._scale,
                    fresh=fresh,
                    tries=tries,
                )
            except _CannotGrade as problem:
                return RecordCheck(
                    "draws", "skipped", f"it cannot be graded here: {problem!s:.500}"
                )
            if found.verdict == "implausible":
                return RecordCheck("draws", "failed", f"{split}: {found.detail}")
            unclear = unclear or found.verdict == "unclear"
            told = [*told, f"{split}: {found.detail}"]
        if draws.kind == "public":
            return RecordCheck(
                "draws", "skipped", "the draws are public: everybody could foresee them"
            )
        return RecordCheck("draws", "skipped" if unclear else "passed", "; ".join(told[1:] or told))

    def _scored(self) -> list[tuple[Split, Mapping[str, Any], int]]:
        """Return the scores to check: the test, and a validation that beats it.

        Each with the number of gradings of these files of which it is the best.
        """
        last = self._story.steps[-1] if self._story.steps else {}
        final = last.get("final") or {}
        made: list[tuple[Split, Mapping[str, Any], int]] = []
        if final.get("outcome") == "scored":
            made.append(("test", final, 1))
        sign = 1.0 if self._scale.direction == "higher" else -1.0
        tried = [told for _, told in self._story.validations if told["score"] is not None]
        best = max(tried, key=lambda told: sign * float(told["score"]), default=None)
        if best is not None and not (made and sign * best["score"] <= sign * made[0][1]["score"]):
            tries = sum(told["files"] == best["files"] for told in tried)
            made.append(("validation", best, tries))
        return made

    def _fresh(self, artefacts: Artefacts, split: Split) -> float:
        """Return a score with a fresh draw."""
        found = self._assessor.grade(artefacts, split, fresh_draw())
        if found.outcome == "infrastructure_fault":
            raise _CannotGrade(found.reason)
        if found.score is not None:
            return found.score
        worst = self._scale.baseline if self._scale.floor is None else self._scale.floor
        if worst is None:
            raise _CannotGrade("it is refused with other draws, and the task names no floor")
        return worst

    def _wrong_draw(self, draws: Draws) -> str | None:
        """Return which grading drew from something else than the record's nonce, if one did."""
        graded: list[tuple[Split, int, int, Mapping[str, Any]]] = [
            ("validation", count, n, told)
            for count, (n, told) in enumerate(
                self._story.validations, self._story.earlier.validations + 1
            )
        ]
        last = self._story.steps[-1] if self._story.steps else {}
        if last.get("final"):
            graded.append(("test", 0, last["n"], last["final"]))
        for split, count, step, told in graded:
            expected = draws.number(self._task.id, self._seed, split, count)
            if told["files"] and told.get("draw") != expected:
                return f"step {step}, {split}: it was not drawn from the record's nonce"
        return None

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
        return kept_artefacts(self._reader.path, self._story, limits, files)


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
