"""What a server offers: environments and research tasks, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from ludus.core import Env, EnvSpec, VectorEnv
from ludus.errors import BadArguments, UntrustedEnv
from ludus.registration import make, make_vec
from ludus.registration.lookup import decide
from ludus.serve.places import runs_inline
from ludus.spaces import Space

__all__ = ["Facts", "Kind", "Served"]

Kind = Literal["environment", "research"]

RESEARCH = "research/"
_RENDER_MODES = ("ansi", "rgb_array")


@dataclass(frozen=True, slots=True)
class Facts:
    """What an instance of a served environment says about all of them."""

    spec: EnvSpec
    action_space: Space[Any]
    observation_space: Space[Any]
    metadata: Mapping[str, Any]
    is_inline: bool
    """Whether steps are short enough for the event loop."""


@dataclass(frozen=True)
class Served:
    """One environment or research task that a server offers.

    Attributes:
        name: As clients write it, such as ``"CartPole-v1"`` or ``"research/battleOfSexes"``.
        spec: Its spec; of an environment that only its sandbox knows, one with the id alone.
        kind: ``"environment"`` or ``"research"``.
        kwargs: Arguments of ``make``, by the operator.
        client_kwargs: Names of arguments that clients may set.
        sandbox: Whether it runs in a sandbox.
        records: Folder for the records of its episodes, of a research task.
    """

    name: str
    spec: EnvSpec
    kind: Kind = "environment"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    client_kwargs: frozenset[str] = frozenset()
    sandbox: bool = False
    records: Path | None = None

    @classmethod
    def of(
        cls,
        name: str,
        *,
        kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Iterable[str] = (),
        records: Path | None = None,
    ) -> Self:
        """Return what is offered under a name.

        Args:
            name: An environment's id, ``"module:id"``, or ``"research/NAME"`` where ``NAME`` is the
                id of a research task, or the path of its folder.
            kwargs: Arguments of ``make`` for every session.
            client_kwargs: Names of arguments that clients may set.
            records: Folder for the records of the episodes of research tasks.

        Raises:
            Error: There is no such environment or task.
            UntrustedEnv: A task's class is not part of Ludus; such classes run on the host.
        """
        given = dict(kwargs or {})
        allowed = frozenset(client_kwargs)
        if name.startswith(RESEARCH):
            spec = _task_spec(name.removeprefix(RESEARCH))
            name = f"{RESEARCH}{spec.id.partition('/')[2].removesuffix('-v0')}"
        else:
            # With a sandbox in mind, so that the lookup imports no code of others.
            env_id, found, _ = decide(name, True)
            spec = EnvSpec(env_id.rpartition(":")[2]) if found is None else found
        if spec.family == "research":
            _check_task_class(name, spec)
            return cls(name, spec, "research", given, allowed, records=records)
        trusted = spec.security.trust == "builtin"
        return cls(name, spec, "environment", given, allowed, sandbox=not trusted)

    @cached_property
    def facts(self) -> Facts:
        """Spaces and metadata, from an instance that is closed again.

        The first access may take seconds, for instance to open a sandbox.
        """
        with closing(self.make()) as env:
            spec = env.spec or self.spec
            return Facts(
                spec, env.action_space, env.observation_space, dict(env.metadata), runs_inline(env)
            )

    @property
    def action_space(self) -> Space[Any]:
        """The action space of one environment."""
        return self.facts.action_space

    @property
    def observation_space(self) -> Space[Any]:
        """The observation space of one environment."""
        return self.facts.observation_space

    @property
    def description(self) -> str:
        """One line or more about it."""
        return self.spec.description or f"The environment {self.name}."

    def checked(self, kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a client's arguments if it may set them.

        ``render_mode`` may always be set to a mode that returns what it draws.

        Raises:
            BadArguments: It may not.
        """
        given = dict(kwargs or {})
        for name, value in given.items():
            if name == "render_mode" and name not in self.client_kwargs:
                modes = self.facts.metadata.get("render_modes") or ()
                allowed = [mode for mode in _RENDER_MODES if mode in modes]
                if value is not None and value not in allowed:
                    raise BadArguments(
                        f"render_mode={value!r:.60} is not served; expected one of {allowed}."
                    )
            elif name not in self.client_kwargs:
                raise BadArguments(
                    f"{self.name} takes no argument {name!r:.60} from clients; it takes "
                    f"{sorted(self.client_kwargs | {'render_mode'})}. The operator allows others "
                    "with --client-kwarg."
                )
        return given

    def make(self, kwargs: Mapping[str, Any] | None = None) -> Env:
        """Build one environment; ``kwargs`` were :meth:`checked`."""
        if self.records is not None:
            from ludus.serve.recorded import RecordedResearch

            arguments = self._arguments(kwargs)
            return RecordedResearch(self.spec.kwargs["task"], self.records, **arguments)
        return make(self._wanted, **self._arguments(kwargs))

    def make_vec(
        self,
        num_envs: int,
        kwargs: Mapping[str, Any] | None = None,
        autoreset_mode: str | None = None,
    ) -> VectorEnv:
        """Build a batch; ``kwargs`` were :meth:`checked`."""
        own = None if autoreset_mode is None else {"autoreset_mode": autoreset_mode}
        return make_vec(self._wanted, num_envs, vector_kwargs=own, **self._arguments(kwargs))

    @property
    def _wanted(self) -> str | EnvSpec:
        """What ``make`` is given: the name, if only the sandbox knows the spec."""
        return self.spec if self.spec.entry_point or self.spec.vector_entry_point else self.name

    def _arguments(self, kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
        own = {"sandbox": True} if self.sandbox else {}
        return {**self.kwargs, **(kwargs or {}), **own}


def _task_spec(name: str) -> EnvSpec:
    """Return the spec of a research task, by its id or path."""
    from ludus.research.task.discovery import load_task
    from ludus.research.task.registration import spec_of_task

    return spec_of_task(load_task(name))


def _check_task_class(name: str, spec: EnvSpec) -> None:
    entry = spec.kwargs.get("task_class")
    if entry is not None and not str(entry).startswith("ludus."):
        raise UntrustedEnv(
            f"{name} has the class {entry!s:.100}, which would run in the server outside of any "
            "sandbox. Serve a task that is a folder."
        )
