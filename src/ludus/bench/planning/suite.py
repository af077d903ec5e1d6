"""Suites: which environments are played, how often, and what their scores are measured against.

A suite is a YAML file::

    name: mine
    seeds: [0, 1, 2]
    agents: [random, heuristic]
    budget: {episodes: 10, max_seconds: 60}
    environments:
      - id: CartPole-v1
        reference: {min: 22.2, max: 500, source: "random agent; the longest episode"}

:func:`load_suite` reads one, by name if it comes with Ludus, else by path.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ludus.bench.planning.budget import Budget, BudgetChange, RunLimits, exclusive
from ludus.bench.statistics.normalise import Reference as Scale
from ludus.core.ids import parse_env_id
from ludus.errors import Error, SuiteError
from ludus.foreign_files import read_text
from ludus.plain_yaml import YamlError, read_yaml

__all__ = [
    "LONGEST",
    "AgentEntry",
    "Environment",
    "Reference",
    "Suite",
    "env_id_of",
    "load_suite",
    "parse_suite",
    "suite_from",
    "suites",
]


_STRICT = ConfigDict(extra="forbid", frozen=True)
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
_MOST = 10_000
_Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Reference(BaseModel):
    """The scores that count as 0 (``min``) and as 1 (``max``), and where they come from.

    Where lower scores are better, ``min`` is the higher number.
    """

    model_config = _STRICT

    min: Annotated[float, Field(allow_inf_nan=False)]
    max: Annotated[float, Field(allow_inf_nan=False)]
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _apart(self) -> Reference:
        if self.min == self.max:
            raise ValueError(f"'min' and 'max' are both {self.min:g}; scores need a scale")
        return self


class Environment(BaseModel):
    """One environment of a suite.

    Attributes:
        id: With its version: results of other versions are not comparable. A module in front, as
            in ``my_package:Maze-v0``, is imported first.
        kwargs: Passed to ``make``.
        max_episode_steps: Another time limit than the registered one.
        better: Whether higher or lower scores are.
        budget: What differs from the suite's budget.
        reference: What scores are normalised with.
        floor: The least that a unit counts as, an agent's fault included; by default the
            reference's ``min``, or the agent's own worst score if that is worse.
        install: How to get the environment, where it is not registered.
    """

    model_config = _STRICT

    id: str
    kwargs: dict[str, Any] = {}
    max_episode_steps: Annotated[int, Field(gt=0, strict=True)] | None = None
    better: Literal["higher", "lower"] = "higher"
    budget: BudgetChange = BudgetChange()
    reference: Reference | None = None
    floor: Annotated[float, Field(allow_inf_nan=False)] | None = None
    install: str | None = None

    @field_validator("id")
    @classmethod
    def _versioned(cls, value: str) -> str:
        try:
            version = parse_env_id(env_id_of(value))[2]
        except Error as problem:
            raise ValueError(str(problem)) from problem
        if version is None:
            raise ValueError(f"{value!r} names no version; write {value}-v0, or which one you mean")
        return value

    @model_validator(mode="after")
    def _one_direction(self) -> Environment:
        if self.reference and (self.reference.max < self.reference.min) != (self.better == "lower"):
            raise ValueError(
                f"{self.better} scores are better, so the reference's 'max', which counts as 1, "
                f"must be {self.better} than its 'min'"
            )
        if self.reference is None or self.floor is None:
            return self
        zero = self.reference.min
        if self.floor < zero if self.better == "lower" else self.floor > zero:
            raise ValueError(
                f"the floor {self.floor:g} is better than the reference's 'min' {zero:g}; an "
                "agent's fault would count as more than 0"
            )
        return self

    @field_validator("kwargs")
    @classmethod
    def _plain(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"only plain values can be given here: {problem}") from problem
        return value


class AgentEntry(BaseModel):
    """An agent as a suite names it; see :func:`ludus.bench.agents.parse_agent`."""

    model_config = _STRICT

    use: str
    name: str | None = None
    num_envs: Annotated[int, Field(gt=0, strict=True)] | None = None
    options: dict[str, Any] = {}


class Suite(BaseModel):
    """A set of environments with everything that a score depends on.

    Attributes:
        name: How to ask for it.
        version: Raised whenever scores would change.
        seeds: One run of every agent on every environment for each; a number counts from 0.
        agents: The agents, unless others are named.
        budget: Of one unit.
        limits: Of the whole run.
    """

    model_config = _STRICT

    name: _Name
    version: Annotated[int, Field(ge=1, strict=True)] = 1
    title: str = ""
    description: str = ""
    seeds: tuple[_Seed, ...] = (0, 1, 2, 3, 4)
    agents: tuple[str | AgentEntry, ...] = ("random",)
    budget: Budget
    limits: RunLimits = RunLimits()
    environments: Annotated[tuple[Environment, ...], Field(min_length=1)]

    @field_validator("seeds", "agents", "environments", mode="before")
    @classmethod
    def _bounded(cls, value: Any) -> Any:
        # Before any entry is looked at: millions of wrong ones would become millions of errors.
        if isinstance(value, list | tuple) and len(value) > _MOST:
            raise ValueError(f"there are {len(value)} entries; at most {_MOST} are read")
        return value

    @field_validator("seeds", mode="before")
    @classmethod
    def _counted(cls, value: Any) -> Any:
        if not isinstance(value, int):
            return value
        if not 0 < value <= _MOST:
            raise ValueError(f"there can be 1 to {_MOST} seeds")
        return tuple(range(value))

    @field_validator("seeds")
    @classmethod
    def _different(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or len(set(value)) != len(value):
            raise ValueError("give at least one seed, and none of them twice")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Suite:
        seen: set[str] = set()
        for index, row in enumerate(self.environments):
            self.budget_of(row)
            name = env_id_of(row.id)
            if name in seen:
                # Results are told apart by id; two variants of one would be mixed in every table.
                raise ValueError(
                    f"environments.{index}: {name} occurs twice; register the variant under an "
                    "id of its own"
                )
            seen.add(name)
        return self

    def budget_of(self, environment: Environment) -> Budget:
        """Return the budget of a unit on one of the environments."""
        return self.budget.changed(environment.budget)

    @property
    def digest(self) -> str:
        """The SHA-256 of what scores depend on beside seed, agent and budget."""
        rows = [row.model_dump(exclude={"budget", "install"}) for row in self.environments]
        for row in rows:
            # A suite that declares no floor is what it was before there were any.
            if row["floor"] is None:
                del row["floor"]
        data = {"name": self.name, "version": self.version, "environments": rows}
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def references(self) -> dict[str, Scale]:
        """What scores are normalised with, by environment id, where there is something."""
        return {
            env_id_of(row.id): Scale.between(
                row.reference.min, row.reference.max, row.reference.source, floor=row.floor
            )
            for row in self.environments
            if row.reference is not None
        }

    @property
    def floors(self) -> dict[str, float]:
        """The least that a unit counts as, by environment id, where it is declared."""
        rows = ((env_id_of(row.id), row.floor) for row in self.environments)
        return {env: floor for env, floor in rows if floor is not None}

    @property
    def lower(self) -> tuple[str, ...]:
        """The environments where lower scores are better."""
        return tuple(env_id_of(row.id) for row in self.environments if row.better == "lower")

    def changed(self, *, seeds: Any = None, **budget: Any) -> Suite:
        """Return the suite with other seeds or another budget for every environment.

        Raises:
            SuiteError: The values are no seeds or no budget.
        """
        given = exclusive({key: value for key, value in budget.items() if value is not None})
        data = self.model_dump(exclude_unset=True)
        if seeds is not None:
            data["seeds"] = seeds
        if given:
            data["budget"] |= given
            for row in data["environments"]:
                kept = row.pop("budget", {})
                row["budget"] = {key: kept[key] for key in kept.keys() - given.keys()}
        return suite_from(data, f"suite {self.name}")


def env_id_of(text: str) -> str:
    """Return an environment's id without the module that may stand in front of it."""
    return text.partition(":")[2] or text


def suites() -> list[str]:
    """Return the names of the suites that come with Ludus."""
    folder = files("ludus.bench").joinpath("suites")
    names = (entry.name for entry in folder.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def load_suite(name_or_path: str | Path) -> Suite:
    """Return a suite that comes with Ludus, or one in a file of yours.

    Raises:
        SuiteError: There is none, or its file is wrong; the message names the line, the field and
            what to do.
    """
    name = str(name_or_path)
    if name in suites():
        text = files("ludus.bench").joinpath("suites", f"{name}.yaml").read_text("utf-8")
        return parse_suite(text, f"{name}.yaml")
    path = Path(name_or_path)
    if path.is_dir():
        raise SuiteError(
            f"{name} is a folder, not a suite. Give the path of a YAML file, or one of "
            f"{', '.join(suites())}."
        )
    try:
        text = read_text(path, 4 * LONGEST)
    except (OSError, UnicodeDecodeError) as problem:
        raise SuiteError(
            f"There is no suite {name!r}: {problem}. Give one of {', '.join(suites())}, or the "
            "path of a YAML file."
        ) from problem
    return parse_suite(text, str(path))


LONGEST = 1_000_000
"""Characters of a suite's file; more is no suite."""
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Suite,
    ("budget",): Budget,
    ("limits",): RunLimits,
    ("agents",): AgentEntry,
    ("environments",): Environment,
    ("environments", "budget"): BudgetChange,
    ("environments", "reference"): Reference,
}
"""The model of each part, by its path without positions."""

_Where = tuple[str | int, ...]


def parse_suite(text: str, source: str) -> Suite:
    """Return the suite that a YAML text describes; messages call it ``source``.

    Raises:
        SuiteError: It is no YAML, or describes no suite.
    """
    if len(text) > LONGEST:
        raise SuiteError(f"{source} has {len(text)} characters; a suite has at most {LONGEST}.")
    try:
        document = read_yaml(text)
    except YamlError as problem:
        raise SuiteError(
            f"{source}, line {problem.line}: {problem.problem}. Check the keys, indentation and "
            "quotes there."
        ) from problem
    data = document.data
    if not isinstance(data, dict):
        raise SuiteError(
            f"{source}, line 1: expected fields such as 'name' and 'environments', found "
            f"{type(data).__name__}."
        )
    return suite_from(data, source, document.line_of)


def suite_from(
    data: Mapping[str, Any], source: str, line_of: Callable[[_Where], int] | None = None
) -> Suite:
    """Return the suite that plain data describes.

    Raises:
        SuiteError: It describes none; every wrong field is named.
    """
    try:
        return Suite.model_validate(data)
    except ValidationError as problem:
        rows = []
        for error in problem.errors():
            path = tuple(part for part in error["loc"] if part not in ("str", "AgentEntry"))
            place = f", line {line_of(path)}" if line_of else ""
            rows.append(f"{source}{place}: {_explain(path, error)}")
        raise SuiteError("\n".join(dict.fromkeys(rows))) from problem


def _explain(path: _Where, error: Any) -> str:
    field = ".".join(str(part) for part in path) or "suite"
    if error["type"] == "extra_forbidden":
        return f"{field}: there is no such field{_advice(path)}"
    if error["type"] == "missing":
        return f"{field}: this field is required; add it"
    message = error["msg"].removeprefix("Value error, ")
    given = "" if isinstance(error["input"], dict | list) else f", got {error['input']!r:.200}"
    return f"{field}: {message[:1].lower()}{message[1:]}{given}"


def _advice(path: _Where) -> str:
    names = tuple(part for part in path[:-1] if isinstance(part, str))
    known = sorted(_MODELS[names].model_fields) if names in _MODELS else []
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; remove it, or use one of: {', '.join(known)}" if known else "; remove it"
