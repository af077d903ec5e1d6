"""Specs: how to build an environment or a wrapper, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ludus.core.ids import parse_env_id

if TYPE_CHECKING:
    from ludus.core.env import Env

__all__ = ["EnvSpec", "SecuritySpec", "WrapperSpec"]

Trust = Literal["builtin", "plugin", "untrusted"]
Network = Literal["none", "loopback", "host"]


@dataclass
class WrapperSpec:
    """How to build one wrapper: its class and arguments.

    ``kwargs`` is ``None`` for a wrapper that does not record its arguments
    (:class:`~ludus.core.RecordConstructorArgs`) and so cannot be rebuilt.
    """

    name: str
    entry_point: str
    kwargs: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SecuritySpec:
    """Permissions that an environment's code needs, as declared by its author.

    A sandbox grants these and no others.
    """

    dependencies: tuple[str, ...] = ()
    """Distributions it imports, as requirement strings."""
    network: Network = "none"
    filesystem: tuple[str, ...] = ()
    """Paths it reads outside its own package."""
    subprocess: bool = False
    trust: Trust = "plugin"
    """``builtin``: part of Ludus; ``plugin``: installed by the user; ``untrusted``: sandboxed."""

    def __post_init__(self) -> None:
        for name, allowed in (
            ("network", ("none", "loopback", "host")),
            ("trust", ("builtin", "plugin", "untrusted")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"SecuritySpec.{name} is {value!r}; expected one of {allowed}.")
        object.__setattr__(self, "dependencies", tuple(self.dependencies))
        object.__setattr__(self, "filesystem", tuple(self.filesystem))


@dataclass
class EnvSpec:
    """How to build one environment and its wrappers, with metadata.

    The first ten parameters are Gymnasium's; the others are keyword-only. ``namespace``, ``name``
    and ``version`` are parsed from the id. ``reward_scale`` says in words what the return of an
    episode means, where that is known.
    """

    id: str
    entry_point: Callable[..., Env] | str | None = None
    reward_threshold: float | None = None
    nondeterministic: bool = False
    max_episode_steps: int | None = None
    order_enforce: bool = True
    disable_env_checker: bool = False
    kwargs: dict[str, Any] = field(default_factory=dict)
    namespace: str | None = field(init=False)
    name: str = field(init=False)
    version: int | None = field(init=False)
    additional_wrappers: tuple[WrapperSpec, ...] = ()
    vector_entry_point: Callable[..., Any] | str | None = None

    author: str | None = field(default=None, kw_only=True)
    description: str | None = field(default=None, kw_only=True)
    tags: tuple[str, ...] = field(default=(), kw_only=True)
    family: str | None = field(default=None, kw_only=True)
    homepage: str | None = field(default=None, kw_only=True)
    licence: str | None = field(default=None, kw_only=True)
    reward_scale: str | None = field(default=None, kw_only=True)
    security: SecuritySpec = field(default_factory=SecuritySpec, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise TypeError(f"EnvSpec.id must be a string, got {type(self.id)}.")
        self.namespace, self.name, self.version = parse_env_id(self.id)
        tags: Any = self.tags
        if isinstance(tags, str):
            raise TypeError(f"EnvSpec.tags must be a sequence of strings, got {tags!r}.")
        self.tags = tuple(tags)

    @property
    def deterministic(self) -> bool:
        """Whether seed and actions determine the whole trajectory."""
        return not self.nondeterministic

    def make(self, **kwargs: Any) -> Env:
        """Build the environment, as ``ludus.make(spec, **kwargs)`` does."""
        # Imported here, because the registry imports this module.
        from ludus.registration import make

        return make(self, **kwargs)

    def to_json(self) -> str:
        """Return the spec as JSON.

        Raises:
            ValueError: An entry point is a callable; JSON can hold only ``"module:name"``.
            TypeError: A keyword argument is not a JSON value.
        """
        # Imported here: most processes read and write no specs.
        import json

        data: dict[str, Any] = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if not item.init or (item.kw_only and value == _default(item)):
                continue
            if callable(value):
                raise ValueError(
                    f"Callable found in {self.id} for {item.name} attribute with value={value}: "
                    "a spec with a callable cannot become JSON. Register it as 'module:name'."
                )
            data[item.name] = value
        data["additional_wrappers"] = [
            dataclasses.asdict(wrapper) for wrapper in self.additional_wrappers
        ]
        if "security" in data:
            data["security"] = dataclasses.asdict(self.security)
        return json.dumps(data)

    @staticmethod
    def from_json(json_env_spec: str) -> EnvSpec:
        """Build a spec from :meth:`to_json`'s text, or from Gymnasium's.

        Raises:
            ValueError: The text is not the JSON of a spec; the message names the field.
        """
        import json

        data = json.loads(json_env_spec)
        if not isinstance(data, dict):
            raise ValueError(f"The JSON of a spec is an object, got a {type(data).__name__}.")
        wrappers = data.pop("additional_wrappers", [])
        security = data.pop("security", {})
        try:
            return EnvSpec(
                **data,
                additional_wrappers=tuple(WrapperSpec(**wrapper) for wrapper in wrappers),
                security=SecuritySpec(**security),
            )
        # Gymnasium raises ValueError for whatever is wrong with the fields.
        except Exception as problem:
            raise ValueError(
                f"An issue occurred when trying to make an EnvSpec or WrapperSpec from JSON: "
                f"{problem}. Got {json_env_spec[:500]}"
            ) from problem

    def pprint(
        self,
        disable_print: bool = False,
        include_entry_points: bool = False,
        print_all: bool = False,
        *,
        about: bool = False,
    ) -> str | None:
        """Print the fields that differ from their defaults, or return that text.

        Args:
            disable_print: Return the text instead of printing it.
            include_entry_points: Show entry points too.
            print_all: Show every field.
            about: Also show the fields that Gymnasium's specs do not have: author, description,
                tags and so on.
        """
        shown = [f"id={self.id}"]
        if print_all or include_entry_points:
            shown.append(f"entry_point={self.entry_point}")
        for item in dataclasses.fields(self):
            if not item.init or item.name in _NOT_PRINTED or (item.kw_only and not about):
                continue
            value = getattr(self, item.name)
            if value != _default(item) or (print_all and not item.kw_only):
                shown.append(f"{item.name}={value}")
        if print_all or self.additional_wrappers:
            lines = [
                f"\n\tname={wrapper.name}, "
                + (f"entry_point={wrapper.entry_point}, " if include_entry_points else "")
                + f"kwargs={wrapper.kwargs}"
                for wrapper in self.additional_wrappers
            ]
            shown.append(f"additional_wrappers=[{','.join(lines)}{chr(10) if lines else ''}]")
        text = "\n".join(shown)
        if disable_print:
            return text
        print(text)  # noqa: T201 - printing is this method's job
        return None


_NOT_PRINTED = {"id", "entry_point", "kwargs", "additional_wrappers", "vector_entry_point"}


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return item.default
