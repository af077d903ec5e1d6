"""Writes the record of an episode.

Beside its events a record has files, each named by an event ``file``:

- ``artefacts/SHA-256``: submitted files, and small texts of the workspace that a step has changed;
- ``outputs/N.txt``: the output of step N where it is too long for the event: as the agent saw it,
  or, if something was left out for the agent, as the command printed it;
- ``conversation/SHA-256``: see :mod:`ludus.research.running.conversation`.

What an agent can fill a disk with is bounded for each record: outputs by :data:`OUTPUTS_BYTES`,
texts by :data:`TEXTS_BYTES`, both by their number. Neither is kept on a disk that is almost full.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Self

from ludus.errors import CodecError, RecordError, ResearchError
from ludus.record import Run, read_run
from ludus.record.format.folder import Folder
from ludus.record.format.keys import SigningKey
from ludus.record.replay.provenance import provenance
from ludus.research.episode.workspace_changes import Changes, Listing
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.draws import Draws
from ludus.research.running.conversation import FOLDER as CALLS
from ludus.research.running.partial_output import PartialOutput, free_bytes
from ludus.research.running.story import KIND, OUTPUTS, Story, Used, tell
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Outcome

__all__ = ["ARTEFACTS", "OUTPUTS_BYTES", "TEXTS_BYTES", "Log", "digest_of", "is_begun"]

ARTEFACTS = "artefacts"
"""The folder of files of the workspace; each is called by its SHA-256."""
OUTPUTS_BYTES = 1 << 27
"""Of all outputs of a record that are kept as files."""
LARGEST_OUTPUT = 1 << 26
"""Bytes of one of them."""
TEXTS_BYTES = 1 << 24
"""Of all small files of the workspace in a record."""
_MOST_OUTPUTS = _MOST_TEXTS = 10_000
_SPARE = 1 << 32
"""Bytes of the disk that are left free."""
_LEAST = 1 << 20
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

    def lost_files(self) -> int:
        """Return how many files of the record are missing or cut, such as after a power cut."""
        expected = {f"{ARTEFACTS}/{digest}": size for digest, size in self.story.files.items()}
        expected |= {path: size for path, (_, size) in self.story.outputs.items()}
        lost = 0
        with Folder(self.path) as folder:
            for name, size in expected.items():
                handle = folder.open(name)
                with handle or nullcontext():
                    lost += handle is None or handle.size != size
        return lost

    def ask(self, data: Mapping[str, Any]) -> None:
        """Write a call of the agent's model."""
        self._append("ask", data)

    def body(self, digest: str, content: bytes) -> None:
        """Store a part of a call that is too large for an event, unless it is there already."""
        if digest not in self.story.asks.files:
            self.story.take(self._run.add_file(f"{CALLS}/{digest}", content))

    def tree(self, listing: Listing) -> None:
        """Write the files of the first workspace, unless that was done."""
        if not self.story.has_tree and not self.story.steps:
            more = {"left_out": listing.left_out} if listing.left_out else {}
            with suppress(CodecError):  # too many braces in names
                self._append("tree", {"files": listing.rows, **more})

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
        # Also those that were there already: from here on, nothing else can be tested.
        self._run.sync()
        self._append("grading", {"n": len(self.story.steps), "split": split, "files": digests})

    def tested(self, made: Outcome) -> None:
        """Write the result of the test, before anything is closed."""
        rest: dict[str, Any] = {"reason": made.reason, "told": made.told}
        if made.kind == "scored":
            rest = {"score": made.score, "details": dict(made.details)}
        self._append("tested", {"outcome": made.kind, **rest})

    @property
    def partial_room(self) -> int:
        """How many bytes of the next output may be kept while its command runs."""
        if free_bytes(self.path) < _SPARE:
            return 0
        return max(_LEAST, min(LARGEST_OUTPUT, self._output_room))

    def step(
        self,
        output: str,
        data: Mapping[str, Any],
        *,
        printed: PartialOutput | None = None,
        changes: Changes | None = None,
    ) -> None:
        """Write the result of the last decision.

        Args:
            output: What the agent sees of the output.
            data: Further fields of the event.
            printed: What the command printed, if the agent does not see all of it.
            changes: Of the workspace, if they are known.
        """
        decided = self.story.decided or {}
        same = {name: decided[name] for name in ("action", "thought", "stop") if name in decided}
        kind = "end" if "stop" in same else "step"
        told = {"n": len(self.story.steps), **same, **_ends(output), "digest": digest_of(output)}
        told |= {"characters": len(output), **data}
        if printed is not None:
            told["printed"] = printed.printed
        if (file := self._output_file(output, printed)) is not None:
            told["output_file"] = file
        if changes is not None:
            self._keep_texts(changes.texts)
            more = {"changes_left_out": changes.left_out} if changes.left_out else {}
            with suppress(CodecError, RecordError):
                # With so many names in it, the event may be larger than one can be.
                self._append(kind, {**told, "changes": changes.rows, **more})
                return
        self._append(kind, told)

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

    @property
    def _output_room(self) -> int:
        kept = self.story.outputs
        if len(kept) >= _MOST_OUTPUTS:
            return 0
        return OUTPUTS_BYTES - sum(size for _, size in kept.values())

    def _output_file(self, output: str, printed: PartialOutput | None) -> str | None:
        """Store an output that is too long for an event; return its path, if there is room."""
        if len(output) <= _WHOLE and printed is None:
            return None
        content = output.encode("utf-8", "surrogatepass")
        source = content if printed is None or printed.kept <= len(content) else printed.path
        size = len(content) if printed is None else max(len(content), printed.kept)
        if size > self._output_room or free_bytes(self.path) < _SPARE:
            return None
        with suppress(RecordError):  # the disk is full, which only costs this file
            return self._store_output(source)
        return None

    def _store_output(self, source: bytes | Path) -> str:
        name = f"{OUTPUTS}/{len(self.story.steps)}"
        path, tries = f"{name}.txt", 0
        while (kept := self.story.outputs.get(path)) is not None:
            # An earlier process was killed between the file and its step.
            if kept[0] == _sha256(source):
                return path
            tries += 1
            path = f"{name}-{tries}.txt"
        for event in self._run.add_files({path: source}):
            self.story.take(event)
        return path

    def _keep_texts(self, texts: Mapping[str, bytes]) -> None:
        """Store contents of changed files, as many as there is room for."""
        story, fresh = self.story, dict[str, bytes]()
        room = TEXTS_BYTES - story.text_bytes if free_bytes(self.path) >= _SPARE else 0
        for digest, content in texts.items():
            is_room = len(content) <= room and len(story.files) + len(fresh) < _MOST_TEXTS
            if digest not in story.files and is_room:
                fresh[f"{ARTEFACTS}/{digest}"] = content
                room -= len(content)
        if fresh:
            with suppress(RecordError):  # the disk is full, which only costs these files
                for event in self._run.add_files(fresh):
                    story.take(event)

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


def _sha256(source: bytes | Path) -> str:
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ends(output: str) -> dict[str, str]:
    if len(output) <= _WHOLE:
        return {"output": output}
    return {"head": output[:_END], "tail": output[-_END:]}
