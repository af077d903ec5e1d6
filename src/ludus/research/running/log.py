"""Writes the record of an episode."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from ludus.errors import ResearchError
from ludus.record import Run, read_run
from ludus.record.format.keys import SigningKey
from ludus.record.replay.provenance import provenance
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.draws import Draws
from ludus.research.running.conversation import FOLDER as CALLS
from ludus.research.running.story import KIND, Story, Used, tell
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Outcome

__all__ = ["ARTEFACTS", "Log", "digest_of", "is_begun"]

ARTEFACTS = "artefacts"
"""The folder of submitted files; each is called by its SHA-256."""
_WHOLE = 1 << 14
_END = 1 << 13


class Log:
    """Writes the events of an episode, each before anything follows from it.

    A context manager; leaving it by an exception closes the record as interrupted.
    """

    def __init__(self, run: Run, story: Story) -> None:
        self._run, self.story = run, story

    @classmethod
    def open(cls, path: Path, subject: Mapping[str, Any], key: SigningKey | None) -> Self:
        """Begin the record of an episode, or continue it.

        Raises:
            ResearchError: It is the record of something else.
            RecordError: It is damaged, complete, being written, or cannot be written.
        """
        if not is_begun(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            origin = {"provenance": provenance()}
            return cls(Run.create(path, kind=KIND, subject=subject, key=key, **origin), Story())
        reader = read_run(path)
        known = reader.manifest["subject"]
        if reader.manifest["kind"] != KIND or known.get("unit") != subject["unit"]:
            raise ResearchError(f"{path} is the record of something else; remove it.")
        was, now = (_image(told) for told in (known, subject))
        if was != now:
            raise ResearchError(
                f"{path} is the record of an episode in the image {was}, and it would go on in "
                f"{now}. Results of different images are not mixed."
            )
        run = Run.resume(path, key=key)
        try:
            return cls(run, tell(reader.events))
        except BaseException:
            run.close("interrupted")
            raise

    def draws(self, draws: Draws) -> None:
        """Write the draws, before anything is done."""
        self._append("draws", draws.plain())

    def earlier(self, used: Used) -> None:
        """Write what abandoned records have used, before anything is done."""
        self._append("earlier", used.plain())

    @property
    def path(self) -> Path:
        """Of the record."""
        return self._run.path

    def ask(self, data: Mapping[str, Any]) -> None:
        """Write a call of the agent's model."""
        self._append("ask", data)

    def body(self, digest: str, content: bytes) -> None:
        """Store a part of a call that is too large for an event, unless it is there already."""
        if digest not in self.story.asks.files:
            self.story.take(self._run.add_file(f"{CALLS}/{digest}", content))

    def act(self, data: Mapping[str, Any]) -> None:
        """Write what the agent has decided."""
        self._append("act", {"n": len(self.story.steps), **data})

    def grading(self, split: Split, artefacts: Artefacts) -> None:
        """Store the files that are going to be graded, and write that they are."""
        digests = artefacts.digests
        for path, digest in digests.items():
            if digest not in self.story.files:
                event = self._run.add_file(f"{ARTEFACTS}/{digest}", artefacts[path])
                self.story.take(event)
        self._append("grading", {"n": len(self.story.steps), "split": split, "files": digests})

    def tested(self, made: Outcome) -> None:
        """Write the result of the test, before anything is closed."""
        rest: dict[str, Any] = {"reason": made.reason, "told": made.told}
        if made.kind == "scored":
            rest = {"score": made.score, "details": dict(made.details)}
        self._append("tested", {"outcome": made.kind, **rest})

    def step(self, output: str, data: Mapping[str, Any]) -> None:
        """Write the result of the last decision."""
        decided = self.story.decided or {}
        same = {name: decided[name] for name in ("action", "thought", "stop") if name in decided}
        kind = "end" if "stop" in same else "step"
        told = {"n": len(self.story.steps), **same, **_ends(output), "digest": digest_of(output)}
        self._append(kind, {**told, "characters": len(output), **data})

    def fault(self, reason: str) -> None:
        """Write that the infrastructure failed, which is no result."""
        self._append("fault", {"n": len(self.story.steps), "reason": reason})

    def note(self, **data: Any) -> None:
        """Write anything else."""
        self._append("note", data)

    def result(self, claim: Mapping[str, Any]) -> None:
        """Write the result of the episode."""
        self._append("result", claim)

    def __enter__(self) -> Self:
        self._run.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._run.__exit__(kind, *rest)

    def _append(self, kind: str, data: Mapping[str, Any]) -> None:
        self.story.take(self._run.append(kind, data))


def is_begun(path: Path) -> bool:
    """Whether there is a record."""
    return (path / "manifest.json").exists()


def _image(subject: Mapping[str, Any]) -> str:
    image = subject.get("image")
    return str(image.get("digest"))[:100] if isinstance(image, Mapping) else "(none)"


def digest_of(output: str) -> str:
    """Return the SHA-256 of an output."""
    return hashlib.sha256(output.encode("utf-8", "surrogatepass")).hexdigest()


def _ends(output: str) -> dict[str, str]:
    if len(output) <= _WHOLE:
        return {"output": output}
    return {"head": output[:_END], "tail": output[-_END:]}
