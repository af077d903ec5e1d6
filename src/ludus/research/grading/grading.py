"""Grades a submission in sandboxes and decides whose fault a failure is.

That is decided by evidence that the agent cannot produce. A failure on the host, or of a sandbox
that was ended from outside, is an infrastructure fault. A grader that fails on a submission (it
raises, dies, is late, sends nonsense) is tried with a known-good submission, with the same limits
and draws. If it fails on that too, the infrastructure is at fault. If it does not, and fails on the
submission again, the submission is.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from ludus.errors import Error, SubmissionRejected
from ludus.research.episode.equipment import Equipment
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.draws import draw_kind, fresh_draw
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.refusal import told_of
from ludus.research.grading.sandboxes import Sandboxes
from ludus.research.grading.session import GraderFailed, Session
from ludus.research.task.contract import Gradable, Split
from ludus.research.task.outcome import Outcome
from ludus.terminal_text import excerpt

__all__ = ["grade"]

_BAFFLED = "The grader cannot handle this submission; it scores others without a fault."


def grade(
    task: Gradable,
    artefacts: Artefacts,
    split: Split,
    seed: int,
    *,
    draw: int | None = None,
    backend: str | None = None,
    limits: GradingLimits | None = None,
    equipment: Equipment | None = None,
) -> Outcome:
    """Grade a submission in fresh sandboxes.

    Args:
        task: whose grader is used.
        artefacts: the submitted files, see :func:`collect`.
        split: which labels to use.
        seed: of the labels.
        draw: the grader's random number; by default a fresh one, or the seed where draws are
            public.
        backend: of the sandboxes; by default the first isolating one that works.
        limits: of time and sizes.
        equipment: image and GPUs of the submission's sandbox, and the backend of both.

    Returns:
        A finite score; an agent fault if the submission is malformed, raises, is late, makes the
        grader fail or otherwise misbehaves; an infrastructure fault if anything else fails.

    Raises:
        ValueError: there is no such split.
    """
    if split not in ("validation", "test"):
        raise ValueError(f"split is {split!r}; expected 'validation' or 'test'.")
    if draw is None:
        draw = seed if draw_kind() == "public" else fresh_draw()
    given = equipment or Equipment(backend)
    trial = _Trial(task, split, seed, draw, given, limits or GradingLimits())
    first = trial.run(artefacts)
    if not isinstance(first, _Doubt):
        return first
    try:
        problem = trial.unhealthy()
    except (Error, OSError, MemoryError) as failure:
        problem = f"{type(failure).__name__}: {failure}"
    if problem:
        reason = f"{first.reason}\nNor is the grader well otherwise: {problem}"
        return Outcome("infrastructure_fault", reason=reason)
    again = trial.run(artefacts)
    if not isinstance(again, _Doubt):
        return again
    reason = f"The grader failed on this submission twice, and not on a good one. {again.reason}"
    return Outcome("agent_fault", reason=reason, told=_BAFFLED)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """The grader failed, and the submission may be the cause."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Trial:
    """Gradings of one kind, each in sandboxes of its own."""

    task: Gradable
    split: Split
    seed: int
    draw: int
    equipment: Equipment
    limits: GradingLimits

    def run(self, artefacts: Artefacts, *, is_probe: bool = False) -> Outcome | _Doubt:
        """Grade once."""
        session: Session | None = None
        try:
            with ExitStack() as stack:
                if not is_probe:
                    artefacts.check(self.task.submission)
                sandboxes = Sandboxes(self.task, artefacts, self.limits, self.equipment, stack)
                session = Session(sandboxes, stack)
                return session.run(self.split, self.seed, self.draw, is_probe=is_probe)
        except SubmissionRejected as problem:
            asked = session is not None and session.is_code_asked
            told = told_of(problem, is_code_asked=asked)
            return Outcome("agent_fault", reason=excerpt(str(problem), 6000), told=told)
        except GraderFailed as problem:
            return _Doubt(excerpt(str(problem), 12_000, tail=True))
        except (Error, OSError, MemoryError) as problem:
            text = excerpt(str(problem), 12_000, tail=True)
            return Outcome("infrastructure_fault", reason=f"{type(problem).__name__}: {text}")

    def unhealthy(self) -> str:
        """Return why a known-good submission cannot be graded; empty if it can."""
        good = self.task.known_good(self.seed)
        found = self.run(Artefacts({}), is_probe=True) if good is None else self.run(good)
        return found.reason
