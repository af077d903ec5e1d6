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
from ludus.research.episode.assessment import Assessor, graded_in_sandboxes
from ludus.research.episode.equipment import Equipment, find_equipment
from ludus.research.grading.artefacts import OF_THE_HOST, Artefacts
from ludus.research.grading.draws import Draws, fresh_draw
from ludus.research.running.fresh_draws import FRESH, compare
from ludus.research.running.options import EpisodeOptions
from ludus.research.running.recorded_grading import kept_artefacts
from ludus.research.running.story import Story
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Graded, Outcome
from ludus.research.task.task import Task

__all__ = ["Regrader"]

_Key = tuple[Split, tuple[tuple[str, str], ...], int | None]
# For sums whose order differs between processors.
_RELATIVE, _ABSOLUTE = 1e-6, 1e-9


class _CannotGrade(Exception):
    """This machine cannot grade it, or what comes out is no number."""


class Regrader:
    """Repeats all gradings of an episode, whose files were checked, of an unchanged task.

    Raises:
        SandboxError: The image that the record names, or what it needs, is not here.
        TaskError: The task's image is another one here.
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
        limits = EpisodeOptions(unlimited=unlimited).policy
        equipment = _recorded_equipment(reader.manifest["subject"], task, backend)
        equipment = equipment.examined(task, limits)
        grade = graded_in_sandboxes(agent_policy(task, limits, equipment), equipment)
        self._seed = int(reader.manifest["subject"]["seed"])
        self._assessor = Assessor(self._task, self._seed, grade)

    def check(self, progress: Callable[[int, int], None] | None = None) -> RecordCheck:
        """Return whether all scores are reproduced."""
        wanted: dict[_Key, list[tuple[int, Outcome]]] = {}
        for key, number, told in self._gradings():
            wanted.setdefault(key, []).append((number, told.outcome))
        for done, ((split, files, draw), claims) in enumerate(wanted.items()):
            if progress is not None:
                progress(done, len(wanted))
            first = f"step {claims[0][0]}"
            try:
                artefacts = self._artefacts(dict(files))
            except RecordError as problem:
                return RecordCheck("replay", "failed", f"{first}: {problem}")
            found = self._assessor.grade(artefacts, split, draw).outcome
            if found.kind == "infrastructure_fault":
                why = f"cannot be graded here: {found.reason:.500}"
                if self._is_only_this_one(artefacts, split, draw):
                    detail = f"{first}, {split}: only this submission {why}"
                    return RecordCheck("replay", "failed", detail)
                return RecordCheck("replay", "skipped", f"it {why}")
            for number, said in claims:
                if difference := _difference(said, found):
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
        if good is None or self._assessor.grade(good, split, draw).outcome.kind != "scored":
            return False
        again = self._assessor.grade(artefacts, split, draw).outcome
        numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", again.reason)}
        lacks = "MemoryError" in again.reason or not numbers.isdisjoint(OF_THE_HOST)
        return again.kind == "infrastructure_fault" and not lacks

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
            detail = "the record does not say what its graders drew from"
            return RecordCheck("draws", "failed", detail)
        if problem := self._wrong_draw(draws):
            return RecordCheck("draws", "failed", problem)
        told, unclear = ["nothing was scored that draws could have helped"], False
        for split, claim, tries in self._scored():
            draw = partial(self._fresh, self._artefacts(dict(claim.files)), split)
            score = float(claim.outcome.score)  # type: ignore[arg-type]
            try:
                found = compare(score, draw, self._scale, fresh=fresh, tries=tries)
            except _CannotGrade as problem:
                detail = f"it cannot be graded here: {problem!s:.500}"
                return RecordCheck("draws", "skipped", detail)
            if found.verdict == "implausible":
                return RecordCheck("draws", "failed", f"{split}: {found.detail}")
            unclear = unclear or found.verdict == "unclear"
            told = [*told, f"{split}: {found.detail}"]
        if draws.kind == "public":
            detail = "the draws are public: everybody could foresee them"
            return RecordCheck("draws", "skipped", detail)
        return RecordCheck("draws", "skipped" if unclear else "passed", "; ".join(told[1:] or told))

    def _scored(self) -> list[tuple[Split, Graded, int]]:
        """Return the scores to check: the test, and a validation that beats it.

        Each with the number of gradings of these files of which it is the best.
        """
        final, made = self._story.final, list[tuple[Split, Graded, int]]()
        if final is not None and final.outcome.kind == "scored":
            made.append(("test", final, 1))
        sign = 1.0 if self._scale.direction == "higher" else -1.0

        def worth(told: Graded) -> float:
            return sign * float(told.outcome.score)  # type: ignore[arg-type]

        tried = [told for _, told in self._story.validations if told.outcome.score is not None]
        best = max(tried, key=worth, default=None)
        if best is not None and not (made and worth(best) <= worth(made[0][1])):
            made.append(("validation", best, sum(told.files == best.files for told in tried)))
        return made

    def _fresh(self, artefacts: Artefacts, split: Split) -> float:
        """Return a score with a fresh draw."""
        found = self._assessor.grade(artefacts, split, fresh_draw()).outcome
        if found.kind == "infrastructure_fault":
            raise _CannotGrade(found.reason)
        score = self._scale.least if found.score is None else found.score
        if score is None:
            raise _CannotGrade("it is refused with other draws, and the task names no floor")
        return score

    def _wrong_draw(self, draws: Draws) -> str | None:
        """Return which grading drew from something else than the record's nonce, if one did."""
        before, final = self._story.earlier.validations, self._story.final
        graded: list[tuple[Split, int, int, Graded]] = [
            ("validation", count, n, told)
            for count, (n, told) in enumerate(self._story.validations, before + 1)
        ]
        if final is not None:
            graded.append(("test", 0, self._story.steps[-1]["n"], final))
        for split, count, step, told in graded:
            expected = draws.number(self._task.id, self._seed, split, count)
            if told.files and told.draw != expected:
                return f"step {step}, {split}: it was not drawn from the record's nonce"
        return None

    def _gradings(self) -> Iterator[tuple[_Key, int, Graded]]:
        """Yield split and files of all gradings, with the step and what is said of it."""
        splits: tuple[tuple[Split, str], ...] = (("validation", "graded"), ("test", "final"))
        for step in self._story.steps:
            for split, name in splits:
                told = Graded.from_plain(step[name]) if step[name] else None
                if told is None or told.outcome.kind == "infrastructure_fault":
                    continue
                # Where nothing could be taken there are no files, and there must be no score.
                if not told.files and told.outcome.kind != "scored":
                    continue
                draw = told.draw
                if draw is not None and not (isinstance(draw, int) and 0 <= draw < 2**63):
                    raise RecordError(f"step {step['n']} names no draw: {draw!r:.40}")
                yield (split, tuple(sorted(told.files.items())), draw), step["n"], told

    def _artefacts(self, files: dict[str, str]) -> Artefacts:
        """Return the kept files; only those the record vouches for."""
        limits = {item.path: item.max_bytes for item in self._task.submission}
        return kept_artefacts(self._reader.path, self._story, limits, files)


def _recorded_equipment(subject: Mapping[str, Any], task: Task, backend: str | None) -> Equipment:
    """Return what submitted code had, as far as it is here.

    The image is the one that the task names on this machine, if its digest is the recorded one. A
    record does not get to name another.
    """
    image = subject.get("image")
    options = subject.get("options")
    without_gpus = isinstance(options, Mapping) and options.get("gpus") == 0
    return find_equipment(
        task,
        backend=backend,
        gpus=0 if without_gpus else None,
        without_image=image is None,
        digest=None if image is None else str(image["digest"]),
        to_grade=True,
    )


def _difference(told: Outcome, found: Outcome) -> str | None:
    if told.kind != found.kind:
        return f"the record says {told.kind}, now it is {found.kind}"
    if found.score is None:
        return None
    said: Any = told.score
    if type(said) not in (int, float) or not math.isclose(
        said, found.score, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE
    ):
        return f"the record says {said!r:.40}, graded again it is {found.score!r}"
    return None
