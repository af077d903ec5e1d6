"""The configuration of a sandbox, as Inspect passes it on and writes it into its logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ludus.plain_yaml import read_yaml
from ludus.sandbox import Policy

__all__ = ["CONFIG_FILE", "LudusSandboxConfig", "read_config"]

CONFIG_FILE = "ludus-sandbox.yaml"
_LONGEST = 1 << 16


class LudusSandboxConfig(BaseModel):
    """How the sandbox of a sample is opened.

    Attributes:
        backend: A backend that isolates; by default the first one that works.
        image: A local image to use as root, with podman or Docker.
        policy: Other values for fields of :class:`ludus.sandbox.Policy`, such as
            ``{"memory": "2G", "egress": ["pypi.org"]}``. Packages of this Python are hidden unless
            ``packages`` names them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: Literal["bubblewrap", "podman", "docker", "gvisor"] | None = None
    image: str | None = None
    policy: dict[str, Any] = Field(default_factory=dict)

    def __hash__(self) -> int:
        # Inspect keeps configurations in sets, and a dict has no hash.
        return hash(self.model_dump_json())

    @model_validator(mode="after")
    def _check_policy(self) -> Self:
        self.limits()
        return self

    def limits(self, **fields: Any) -> Policy:
        """Return the policy; ``fields`` hold where the configuration has no other value.

        Raises:
            ValueError: A field of the policy is unknown or out of range.
        """
        try:
            return Policy(**{**fields, **self.policy})
        except TypeError:
            raise ValueError(
                f"policy is {self.policy!r}; expected fields of ludus.sandbox.Policy, such as "
                "memory, cpus, pids, disk and egress."
            ) from None


def read_config(config: BaseModel | str | None) -> LudusSandboxConfig:
    """Return the configuration that Inspect passes to a provider: an object, a file, or none.

    Raises:
        ValueError: It is none of this provider, or the file cannot be read as one.
    """
    if config is None:
        return LudusSandboxConfig()
    if isinstance(config, LudusSandboxConfig):
        return config
    if not isinstance(config, str):
        raise ValueError(
            f"The configuration of the sandbox is a {type(config).__name__}; expected a "
            "LudusSandboxConfig, or the path of a YAML file with its fields."
        )
    with Path(config).open("rb") as file:
        text = file.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise ValueError(f"{config} has more than {_LONGEST:,} bytes; expected a short YAML file.")
    return LudusSandboxConfig.model_validate(read_yaml(text.decode()).data or {})
