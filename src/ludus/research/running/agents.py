"""Agents by name, and how they are made.

=====================  ================================================================
``react``              asks a model on an OpenAI-compatible server; needs ``model``
``scripted``           takes the actions of a YAML file, ``file``
``replay``             repeats the actions of a recorded run, ``run``
``random``             looks around at random; may ``submit_after`` some actions
``human``              a person at the terminal
``module:factory``     made by a factory in a module
``file.py:factory``    the same, from a file
=====================  ================================================================
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ludus.bench.agents.loading import load_agent
from ludus.bench.agents.spec import AgentSpec, source_of
from ludus.errors import ResearchError
from ludus.foreign_files import read_text
from ludus.plain_yaml import YamlError, read_yaml
from ludus.research.episode.actions import ActionSpace
from ludus.research.running.options import EpisodeOptions
from ludus.spaces import Space

if TYPE_CHECKING:
    from ludus.research.episode.env import ResearchEnv

__all__ = [
    "BUILT_IN",
    "AgentView",
    "make_agent",
    "parse_agent",
    "parse_options",
    "read_agent_config",
]


@dataclass(frozen=True, slots=True)
class AgentView:
    """What an agent knows of its environment, which the runner steps.

    With the environment itself an agent could validate and submit without a record, read the result
    of the test, and make the episode look like an infrastructure fault.
    """

    task: str
    description: str
    max_steps: int
    command_seconds: float
    action_space: ActionSpace
    observation_space: Space[Any]

    @classmethod
    def of(cls, env: ResearchEnv) -> Self:
        """Return the view of an environment; its spaces are its own."""
        config, steps = env.task.config, env.limits.steps
        space = copy.deepcopy(env.observation_space)
        seconds = env.limits.long
        return cls(config.id, config.description, steps, seconds, ActionSpace(), space)


_REACT = (
    "caps", "context_tokens", "demonstrations", "keep_first", "keep_last", "limit_field",
    "max_malformed", "max_retries", "model", "options", "prices", "reply_tokens",
    "request_timeout", "style", "templates",
)  # fmt: skip
_OPTIONS: dict[str, tuple[str, ...]] = {
    "human": (),
    "random": ("submit_after",),
    "react": _REACT,
    "replay": ("run",),
    "scripted": ("file",),
}
_LONGEST = 1 << 20
_NEEDED = {"react": "model", "replay": "run", "scripted": "file"}
BUILT_IN = tuple(_OPTIONS)


def parse_options(texts: list[str] | None) -> dict[str, Any]:
    """Parse options given as ``key=value``, with values in YAML: ``caps={calls: 20}``.

    Raises:
        ResearchError: One is not of this form.
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        try:
            read = read_yaml(value).data
        except YamlError as problem:
            raise ResearchError(f"The value of option {text!r} is no YAML: {problem}") from problem
        if not equals or not key.isidentifier() or key in found:
            raise ResearchError(
                f"The option {text!r} is invalid: expected key=value, each key once, such as "
                "context_tokens=16000 or 'caps={calls: 20}'."
            )
        found[key] = read
    return found


def read_agent_config(file: Path) -> dict[str, Any]:
    """Return the options of an agent that a YAML file holds.

    Raises:
        ResearchError: It cannot be read, is no YAML, or holds something else than options.
    """
    try:
        found = read_yaml(read_text(file, _LONGEST)).data
    except (YamlError, UnicodeDecodeError) as problem:
        raise ResearchError(f"{file} is no YAML: {problem}") from problem
    except OSError as problem:
        raise ResearchError(f"{file} cannot be read: {problem.strerror}.") from problem
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise ResearchError(
            f"{file} holds a {type(found).__name__}; expected options such as 'style: text'."
        )
    return found


def parse_agent(text: str, options: Mapping[str, Any]) -> AgentSpec:
    """Return the agent that a text names; a prefix ``name=`` renames it.

    Raises:
        ResearchError: There is none of this name, or it has no such option.
    """
    name, equals, use = text.partition("=")
    if not equals or not re.fullmatch(r"[\w.@+-]+", name):
        name, use = "", text
    if use in _OPTIONS:
        _check_options(use, options)
        if use == "react":
            _conversation(options)
        model = options.get("model") if use == "react" else None
        return AgentSpec(name or (f"react-{model}" if model else use), use, options=dict(options))
    where, colon, thing = use.rpartition(":")
    if not colon or not where or not thing:
        close = difflib.get_close_matches(use, BUILT_IN, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ResearchError(
            f"{text!r} names no agent.{hint} Expected {', '.join(BUILT_IN)}, module:factory or "
            "file.py:factory."
        )
    found = source_of(use)
    if where.endswith(".py") and (found is None or not found.is_file()):
        raise ResearchError(f"{text!r}: there is no file {where}.")
    return AgentSpec(name or use, use, options=dict(options))


def make_agent(spec: AgentSpec, env: Any, seed: int, options: EpisodeOptions) -> Any:
    """Return an agent for one episode.

    Raises:
        ResearchError: Its options are wrong.
        Exception: Whatever its own code raises.
    """
    given = dict(spec.options)
    match spec.use:
        case "react":
            return _react(given, options)
        case "scripted":
            from ludus.research.agents.simple import ScriptedAgent

            return ScriptedAgent.from_file(given["file"])
        case "replay":
            from ludus.research.agents.simple import ReplayAgent
            from ludus.research.running.trajectory import trajectory_of_run

            return ReplayAgent(trajectory_of_run(Path(given["run"])))
        case "random":
            from ludus.research.agents.simple import RandomAgent

            return RandomAgent(seed, submit_after=given.get("submit_after"))
        case "human":
            from ludus.research.agents.human import HumanAgent

            return HumanAgent()
    return load_agent(spec, env, seed)


def _check_options(use: str, options: Mapping[str, Any]) -> None:
    if "api_key" in options:
        raise ResearchError(
            "A key is no option, as options are written down with the results. Set OPENAI_API_KEY."
        )
    known = _OPTIONS[use]
    unknown = sorted(options.keys() - set(known))
    if unknown:
        close = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ResearchError(
            f"The agent {use} has no option {unknown[0]!r}.{hint} It has "
            f"{', '.join(known) or 'none'}."
        )
    needed = _NEEDED.get(use)
    if needed is not None and not options.get(needed):
        how = "--model NAME" if needed == "model" else f"--agent-option {needed}=PATH"
        raise ResearchError(f"The agent {use} needs {needed}: give {how}.")


def _react(given: dict[str, Any], options: EpisodeOptions) -> Any:
    from ludus.research.agents.accounting import Caps, price_table
    from ludus.research.agents.react import ReactAgent, ReactConfig

    caps = {"cost": options.cost_limit, "seconds": options.time_limit, **(given.pop("caps", {}))}
    prices = price_table(given.pop("prices", {}))
    given |= _conversation(given)
    try:
        config = ReactConfig(**given, base_url=options.base_url, caps=Caps(**caps), prices=prices)
    except TypeError as problem:
        known = ", ".join(field.name for field in dataclasses.fields(Caps))
        raise ResearchError(
            f"The options of the agent react are wrong: {problem}. Caps are {known}."
        ) from problem
    return ReactAgent(config)


def _conversation(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompts and messages of the agent react that its options hold."""
    from ludus.research.agents.templates import Templates, checked_demonstrations

    return {
        "templates": Templates.of(given.get("templates", {})),
        "demonstrations": checked_demonstrations(given.get("demonstrations", ())),
    }
