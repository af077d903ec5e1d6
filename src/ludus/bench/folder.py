"""The folder of a bench run: what was planned, and what is finished.

::

    RUN/
      bench.json          the suite, the agents and the units, written before anything is done
      results/<unit>.json one file per unit; it is there, whole, when the unit is finished
      records/<unit>/     the unit's episodes, see ludus.record
      verifications/      signed statements about the results, see ludus.bench.statement
      workers.log         what agents printed
      lock                held by whoever runs the units
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ludus.bench.agents.spec import AgentSpec, RecordedAgent
from ludus.bench.plan import Plan
from ludus.bench.result import Result
from ludus.bench.standing import Standing, standing
from ludus.bench.statement_files import read_statements
from ludus.bench.suite import Suite, suite_from
from ludus.errors import BenchError
from ludus.record.keys import PublicKey
from ludus.record.trust import trusted_keys as all_trusted_keys
from ludus.version import __version__

__all__ = ["AgentRow", "BenchFolder", "MissingRow"]


class AgentRow(BaseModel):
    """An agent as a run remembers it: its identity, and whether its name is enough to load it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    use: str
    num_envs: int | None
    options: dict[str, Any]
    digest: str | None
    by_name: bool

    @classmethod
    def of(cls, spec: AgentSpec) -> AgentRow:
        """Return the row of an agent."""
        return cls(**spec.identity(), by_name=spec.by_name)

    def spec(self) -> AgentSpec:
        """Return the agent as a spec that has the identity it had then; it cannot be loaded."""
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
    name: Annotated[str, Field(min_length=1)]
    created: str
    ludus: str
    suite: dict[str, Any]
    agents: tuple[AgentRow, ...]
    units: tuple[Annotated[str, Field(pattern="^[0-9a-f]{32}$")], ...]
    missing: tuple[MissingRow, ...]


class BenchFolder:
    """Reads and writes the folder of one bench run; see the module.

    Attributes:
        path: Of the folder.
        name: Of the run.
        suite: What is played.
        agents: Who plays.
        unit_ids: What is to be done, in this order.
        missing: Environments of the suite that are left out.
        digest: The SHA-256 of all of ``bench.json``.
    """

    def __init__(self, path: str | Path, data: _Plan) -> None:
        """Not for callers; see :meth:`create` and :meth:`open`."""
        self.path = Path(path)
        self.name = data.name
        self.suite: Suite = suite_from(data.suite, f"{self.path / 'bench.json'}")
        self.agents = data.agents
        self.unit_ids = data.units
        self.missing = data.missing
        content = json.dumps(data.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        self.digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    @classmethod
    def create(cls, path: str | Path, plan: Plan, *, name: str | None = None) -> BenchFolder:
        """Begin a run in a new folder.

        Raises:
            BenchError: There is a run already, or the folder cannot be written.
        """
        target = Path(path)
        if (target / "bench.json").exists():
            raise BenchError(
                f"There is a run in {target} already. Go on with it: ludus bench resume {target}; "
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
        try:
            data = _Plan.model_validate_json(source.read_bytes())
        except FileNotFoundError as problem:
            raise BenchError(
                f"There is no run in {path}: {source} is missing. Start one with ludus bench run "
                "or ludus research run."
            ) from problem
        except (OSError, ValueError) as problem:
            raise BenchError(f"{source} does not describe a bench run: {problem}") from problem
        return cls(path, data)

    def results(self, *, trusted_keys: Iterable[PublicKey] | None = None) -> list[Result]:
        """Return the results there are, in the order of the plan, each with what it counts as.

        Args:
            trusted_keys: Whose statements count; by default the user's own key and those that the
                user has listed, see :func:`ludus.record.trusted_keys`.

        Raises:
            BenchError: A file is damaged.
        """
        found = (self.result(unit_id) for unit_id in self.unit_ids)
        told = self.standing(trusted_keys)
        return [told.of(result) for result in found if result is not None]

    def standing(self, trusted_keys: Iterable[PublicKey] | None = None) -> Standing:
        """Return what trusted statements in the folder say about its results."""
        keys = all_trusted_keys() if trusted_keys is None else tuple(trusted_keys)
        return standing(read_statements(self.path, keys), keys, plan=self.digest)

    def own_results(self, *, trusted_keys: Iterable[PublicKey] | None = None) -> list[Result]:
        """Return the results there are, after a check that they belong to the folder's suite.

        For whoever measures them with the suite's references and floors.

        Args:
            trusted_keys: As for :meth:`results`.

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
        source = self._result_path(unit_id)
        try:
            result = Result.from_dict(json.loads(source.read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as problem:
            raise BenchError(
                f"{source} is damaged: {problem}. Remove it, and the unit is done again by "
                f"ludus bench resume {self.path}."
            ) from problem
        if result.id != unit_id:
            raise BenchError(f"{source} is the result of another unit, {result.id}. Remove it.")
        return result

    def write(self, result: Result) -> None:
        """Keep a result; when this returns, it survives a power cut.

        Raises:
            OSError: It cannot be written; what was there before still is.
        """
        write_json(self._result_path(result.id), result.to_dict())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from running the same units.

        Raises:
            BenchError: Another process is running them.
        """
        with (self.path / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as problem:
                raise BenchError(f"Another process is running {self.path}.") from problem
            yield

    def _result_path(self, unit_id: str) -> Path:
        return self.path / "results" / f"{unit_id}.json"


def write_json(path: Path, data: Any) -> None:
    """Write a file so that it is there whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
