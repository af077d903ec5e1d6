"""The folder of a bench run: what was planned, and what is finished.

::

    RUN/
      bench.json          the suite, the agents and the units, written before anything is done
      results/<unit>.json one file per unit; it is there, whole, when the unit is finished
      records/<unit>/     the unit's episodes, see ludus.record
      verifications/      signed statements about the results, see ludus.bench.verifying.statement
      workers.log         what agents printed
      lock                held by the process that runs the units
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field

from ludus.atomic import write_whole
from ludus.bench.agents.spec import AgentSpec, RecordedAgent
from ludus.bench.planning.plan import BenchPlan
from ludus.bench.planning.suite import Suite, suite_from
from ludus.bench.result import Result, read_json
from ludus.bench.verifying.statement import Standing, read_statements, standing
from ludus.errors import BenchError, RecordError
from ludus.record.format.folder import Folder
from ludus.record.format.keys import PublicKey
from ludus.record.format.keys import trusted_keys as all_trusted_keys
from ludus.version import __version__

__all__ = [
    "LARGEST_PLAN",
    "LARGEST_RESULT",
    "LARGEST_RESULTS",
    "AgentRow",
    "BenchFolder",
    "MissingRow",
    "read_from",
    "write_json",
]

LARGEST_PLAN = 1 << 25
"""Bytes of ``bench.json``: a million units."""
LARGEST_RESULT = 1 << 24
"""Bytes of one result, which is more than a store takes."""
LARGEST_RESULTS = 1 << 30
"""Bytes of all results of a run."""
_LONGEST_MESSAGE = 2000


class AgentRow(BaseModel):
    """An agent in ``bench.json``: its identity, and whether its name is enough to load it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    use: str
    num_envs: Annotated[int, Field(gt=0, le=2**20)] | None
    options: dict[str, Any]
    digest: str | None
    by_name: bool

    @classmethod
    def of(cls, spec: AgentSpec) -> AgentRow:
        """Return the row of an agent."""
        return cls(**spec.identity(), by_name=spec.by_name)

    def spec(self) -> AgentSpec:
        """Return a spec with the identity that the agent had then; it cannot be loaded."""
        told = self.model_dump(exclude={"by_name"})
        return RecordedAgent(self.name, self.use, self.num_envs, self.options, identity_then=told)


class MissingRow(BaseModel):
    """An environment that a run left out."""

    env: str
    reason: str
    install: str


class _Plan(BaseModel):
    """``bench.json``, which may come from anybody: unit ids become names of files."""

    format: Literal["ludus.bench"]
    version: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=300)]
    created: str
    ludus: str
    suite: dict[str, Any]
    # At the first mistake: a list of millions would otherwise become millions of errors.
    agents: Annotated[tuple[AgentRow, ...], FailFast()]
    units: Annotated[tuple[Annotated[str, Field(pattern="^[0-9a-f]{32}$")], ...], FailFast()]
    missing: Annotated[tuple[MissingRow, ...], FailFast()]


class BenchFolder:
    """Reads and writes the folder of one bench run; see the module.

    Attributes:
        path: Of the folder.
        name: Of the run.
        created: When it was planned, in UTC.
        suite: The suite.
        agents: The agents.
        unit_ids: Ids of the units, in the order of the plan.
        missing: Environments of the suite that are left out.
        digest: The SHA-256 of all of ``bench.json``.
    """

    def __init__(self, path: str | Path, data: _Plan) -> None:
        """Not for callers; see :meth:`create` and :meth:`open`."""
        self.path = Path(path)
        self.name, self.created = data.name, data.created
        self.suite: Suite = suite_from(data.suite, f"{self.path / 'bench.json'}")
        self.agents = data.agents
        self.unit_ids = data.units
        self.missing = data.missing
        content = json.dumps(data.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        self.digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    @classmethod
    def create(cls, path: str | Path, plan: BenchPlan, *, name: str | None = None) -> BenchFolder:
        """Start a run in a new folder.

        Raises:
            BenchError: There is a run already, or the folder cannot be written.
        """
        target = Path(path)
        if (target / "bench.json").exists():
            raise BenchError(
                f"There is a run in {target} already. Resume it with ludus bench resume {target}; "
                "or choose another folder with --out."
            )
        moment = datetime.now(UTC)
        data = _Plan(
            format="ludus.bench",
            version=1,
            name=name or f"{plan.suite.name}-{moment:%Y%m%d-%H%M%S}-{os.urandom(2).hex()}",
            created=moment.isoformat(timespec="seconds").replace("+00:00", "Z"),
            ludus=__version__,
            suite=plan.suite.model_dump(mode="json", exclude_unset=True),
            agents=tuple(AgentRow.of(spec) for spec in plan.agents),
            units=tuple(unit.id for unit in plan.units),
            missing=tuple(
                MissingRow(env=one.env, reason=one.reason, install=one.install)
                for one in plan.missing
            ),
        )
        try:
            for folder in (target, target / "results", target / "records"):
                folder.mkdir(parents=True, exist_ok=True)
            write_json(target / "bench.json", data.model_dump())
        except OSError as problem:
            raise BenchError(f"No run can be kept in {target}: {problem}.") from problem
        return cls(target, data)

    @classmethod
    def open(cls, path: str | Path) -> BenchFolder:
        """Open the folder of a run.

        Raises:
            BenchError: There is none, or its ``bench.json`` is damaged.
        """
        source = Path(path) / "bench.json"
        content = read_from(path, "bench.json", LARGEST_PLAN)
        if content is None:
            raise BenchError(
                f"There is no run in {path}: {source} is missing. Start one with ludus bench run "
                "or ludus research run."
            )
        try:
            read_json(content.decode("utf-8"))
            data = _Plan.model_validate_json(content)
        except (ValueError, RecursionError) as problem:
            raise BenchError(
                f"{source} does not describe a bench run: {str(problem)[:_LONGEST_MESSAGE]}"
            ) from problem
        return cls(path, data)

    def results(self, *, trusted_keys: Iterable[PublicKey] | None = None) -> list[Result]:
        """Return the results there are, in the order of the plan, each with its standing.

        By default the statements of the user's own key and of the keys that the user has listed
        count, see :func:`ludus.record.trusted_keys`.

        Raises:
            BenchError: A file is damaged, or all of them together are too large.
        """
        told = self.standing(trusted_keys)
        found, left = [], LARGEST_RESULTS
        for unit_id in self.unit_ids:
            content = self._content(unit_id)
            if content is None:
                continue
            left -= len(content)
            if left < 0:
                raise BenchError(
                    f"The results in {self.path / 'results'} have more than {LARGEST_RESULTS} "
                    "bytes together, which is more than is read. Is this the folder of a run?"
                )
            found.append(told.of(self._parsed(unit_id, content)))
        return found

    def standing(self, trusted_keys: Iterable[PublicKey] | None = None) -> Standing:
        """Return what trusted statements in the folder say about its results."""
        keys = all_trusted_keys() if trusted_keys is None else tuple(trusted_keys)
        return standing(read_statements(self.path, keys), keys, plan=self.digest)

    def own_results(self, *, trusted_keys: Iterable[PublicKey] | None = None) -> list[Result]:
        """Return :meth:`results` after a check that they belong to the folder's suite.

        Used where they are compared with the suite's references and floors.

        Raises:
            BenchError: A file is damaged, or of another suite.
        """
        found = self.results(trusted_keys=trusted_keys)
        here = self.suite.name, self.suite.digest
        for result in found:
            if (result.suite, result.suite_digest) != here:
                raise BenchError(
                    f"{self._result_path(result.id)} is a result of suite {result.suite} "
                    f"{result.suite_digest[:12]}, and {self.path / 'bench.json'} describes "
                    f"{here[0]} {here[1][:12]}. One of the two was changed after the run; restore "
                    "it, or run the suite again."
                )
        return found

    def result(self, unit_id: str) -> Result | None:
        """Return the result of a unit as it is claimed, if there is one.

        Raises:
            BenchError: Its file is damaged.
        """
        content = self._content(unit_id)
        return None if content is None else self._parsed(unit_id, content)

    def _content(self, unit_id: str) -> bytes | None:
        return read_from(self.path, f"results/{unit_id}.json", LARGEST_RESULT)

    def _parsed(self, unit_id: str, content: bytes) -> Result:
        source = self._result_path(unit_id)
        try:
            result = Result.from_dict(read_json(content.decode("utf-8")))
        except (ValueError, TypeError, RecursionError) as problem:
            raise BenchError(
                f"{source} is damaged: {str(problem)[:_LONGEST_MESSAGE]}. Remove it, and the unit "
                f"is done again by ludus bench resume {self.path}."
            ) from problem
        if result.id != unit_id:
            raise BenchError(f"{source} is the result of another unit, {result.id}. Remove it.")
        return result

    def write(self, result: Result) -> None:
        """Write a result; when this returns, it survives a power cut.

        Raises:
            OSError: It cannot be written, or is larger than what is read; the previous one stays.
        """
        content = _json(result.to_dict())
        if len(content) > LARGEST_RESULT:
            raise OSError(
                errno.EFBIG,
                f"the result has {len(content)} bytes, and at most {LARGEST_RESULT} are read",
            )
        write_whole(self._result_path(result.id), content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run, so that no other process runs the same units.

        Raises:
            BenchError: Another process is running them.
        """
        for name in ("results", "records", "checkpoints", "abandoned"):
            if (self.path / name).is_symlink():
                raise BenchError(
                    f"{self.path / name} is a link. What it leads to may be anybody's, and nothing "
                    "is written or removed there. Put the folder itself in its place."
                )
        try:
            with Folder(self.path) as folder:
                file = folder.open_append("lock")
        except RecordError as problem:
            raise BenchError(f"The run cannot be locked: {problem}") from problem
        with file:
            if not file.lock():
                raise BenchError(f"Another process is running {self.path}.")
            yield

    def _result_path(self, unit_id: str) -> Path:
        return self.path / "results" / f"{unit_id}.json"


def write_json(path: Path, data: Any) -> None:
    """Write a file so that it is there whole or not at all."""
    write_whole(path, _json(data))


def _json(data: Any) -> bytes:
    return json.dumps(data, indent=1).encode() + b"\n"


def read_from(path: str | Path, name: str, longest: int) -> bytes | None:
    """Return the content of a file in the folder of a run, ``None`` if it does not exist.

    The folder may come from anyone: nothing is read through symbolic links below it, from pipes or
    devices, or beyond ``longest`` bytes. The name of the file has slashes.

    Raises:
        BenchError: It is no regular file, too large, or cannot be read.
    """
    try:
        if not Path(path).is_dir():
            return None
        with Folder(path) as folder:
            handle = folder.open(name)
            if handle is None:
                return None
            with handle:
                size = handle.size
                content = bytes(handle.read(0, min(size, longest) + 1))
    except (RecordError, OSError) as problem:
        raise BenchError(f"{Path(path) / name} cannot be read: {problem}") from problem
    if max(size, len(content)) > longest:
        raise BenchError(
            f"{Path(path) / name} has {max(size, len(content))} bytes; at most {longest} are read."
        )
    return content
