"""Import of MLGym's agent files as options of the agent ``react``.

=================================  =============================================================
field                              option
=================================  =============================================================
``system_template`` …              ``templates``; variables of the same names
``format_error_template``          ``templates.malformed``
``demonstrations``                 ``demonstrations``, messages before the task
``history_processor``              ``keep_last``
``output_parser``                  ``style: text``, one fenced block
``tools.command_files``            Ludus's tools, which have the same names
=================================  =============================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any

from ludus.atomic import write_whole
from ludus.errors import ResearchError, TaskError
from ludus.research.agents.templates import VARIABLES, Templates, checked_demonstrations, escaped
from ludus.research.importing.mlgym_files import root_of
from ludus.research.importing.report import ImportReport, Rows
from ludus.research.importing.source_files import Budget, inside, read_source
from ludus.research.tools.inside.document import window_height
from ludus.research.tools.inside.table import TOOLS

__all__ = ["import_mlgym_agent"]

_LONGEST = 1_000_000
_ALL = 10_000
_OTHER_NAMES = {"instance_template": "task_template", "parse_function": "output_parser"}
_PARSERS = {"MLGymThoughtActionParser": "mapped", "ThoughtActionParser": "adapted"}
_COMMANDS = {
    "defaults.sh": "open goto scroll_up scroll_down create",
    "cursors_defaults.sh": "open goto scroll_up scroll_down create",
    "search.sh": "search_dir search_file find_file",
    "edit_linting.sh": "edit",
    "cursors_edit_linting.sh": "edit",
    "insert_linting.sh": "insert",
    "memory_read.py": "memory_read",
    "memory_write.py": "memory_write",
    "submit.sh": "submit",
    "validate.sh": "validate",
    "_split_string.py": "",
}
_SANDBOX = ("blocklist", "blocklist_error_template", "blocklist_standalone", "util_functions")


def import_mlgym_agent(source: Path, given: Mapping[str, Any], out: Path) -> ImportReport:
    """Import the fields of an agent file; see :func:`ludus.research.importing.import_task`."""
    fields = _flat(given, source)
    rows = Rows()
    variables = _variables(fields, rows)
    made: dict[str, Any] = {"style": "text", "keep_first": 0}
    made["templates"] = _templates(fields, variables, rows)
    made["demonstrations"] = _demonstrations(fields, source, rows)
    _history(fields, made, rows)
    _parser(fields, rows)
    _tools(fields, rows)
    for field in sorted(fields.keys() - _KNOWN):
        rows.left_out(field, f"no counterpart for {str(fields[field])!r:.80}")
    try:
        Templates.of(made["templates"])
        checked_demonstrations(made["demonstrations"])
    except ResearchError as problem:
        raise TaskError(f"{source}: {problem}") from problem
    # JSON is valid YAML.
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    if len(text) > _LONGEST:
        raise TaskError(
            f"{source} becomes a file of {len(text):,} characters; at most {_LONGEST:,} are read. "
            "Leave out demonstrations."
        )
    if out.exists() or out.is_symlink():
        raise TaskError(f"{out} is there already; choose another file, or remove it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, text.encode())
    return ImportReport("mlgym", "agent", source.stem, out, tuple(rows.rows))


def _flat(given: Mapping[str, Any], source: Path) -> dict[str, Any]:
    tools = given.get("tools") or {}
    if not isinstance(tools, dict):
        raise TaskError(f"{source}: tools is {tools!r:.80}; expected fields below it.")
    merged = {**{name: value for name, value in given.items() if name != "tools"}, **tools}
    return {_OTHER_NAMES.get(name, name): value for name, value in merged.items()}


def _variables(fields: Mapping[str, Any], rows: Rows) -> dict[str, str]:
    """Return the values of variables that are known now."""
    given = fields.get("env_variables") or {}
    if not isinstance(given, dict):
        raise TaskError(f"env_variables is {given!r:.80}; expected values by name.")
    known = {str(name): str(value) for name, value in given.items()}
    if "WINDOW" in known:
        rows.adapted("env_variables.WINDOW", f"the tools show {window_height()} lines")
        known["WINDOW"] = str(window_height())
    others = sorted(known.keys() - {"WINDOW"})
    if others:
        rows.adapted("env_variables", f"in templates only: {', '.join(others)}")
    return known


def _templates(fields: Mapping[str, Any], known: Mapping[str, str], rows: Rows) -> dict[str, str]:
    """Return the templates by Ludus's names."""
    for name in ("system_template", "task_template"):
        if not isinstance(fields.get(name), str):
            raise TaskError(f"{name} is {fields.get(name)!r:.80}; expected a text.")
    made: dict[str, str] = {}
    places = {
        "system_template": "system", "task_template": "task", "next_step_template": "next_step",
        "next_step_no_output_template": "next_step_no_output", "format_error_template": "malformed",
    }  # fmt: skip
    for field, place in places.items():
        if fields.get(field) is not None:
            made[place] = _template(field, fields[field], known, rows)
    if fields.get("strategy_template") is not None:
        strategy = _template("strategy_template", fields["strategy_template"], known, rows)
        made["task"] += f"\n{strategy}"
    if "next_step" not in made:
        made["next_step"] = made["task"]
        rows.mapped("next_step_template", "not given: as task_template")
    return made


def _template(field: str, text: Any, known: Mapping[str, str], rows: Rows) -> str:
    """Return a template in Ludus's form: the same variables, other braces as text."""
    try:
        parts = list(Formatter().parse(text))
    except (TypeError, ValueError) as problem:
        raise TaskError(f"{field} is no template: {problem}. Write {{{{ for a brace.") from problem
    made, literal, unknown = "", "", set()
    for text_before, name, *_ in parts:
        literal += text_before
        if name is None:
            continue
        if name in known or name not in VARIABLES:
            literal += known.get(name, "n/a")
            unknown |= {name} - known.keys()
            continue
        made += f"{escaped(literal)}{{{name}}}"
        literal = ""
    made += escaped(literal)
    if unknown:
        shown = ", ".join(sorted(unknown))
        rows.adapted(field, f"n/a for what Ludus does not know: {shown}")
    else:
        rows.mapped(field, f"{len(text):,} characters")
    return made


def _demonstrations(fields: Mapping[str, Any], source: Path, rows: Rows) -> list[dict[str, str]]:
    names = fields.get("demonstrations") or []
    if not isinstance(names, list):
        raise TaskError(f"demonstrations is {names!r:.80}; expected a list of files.")
    template, apart = fields.get("demonstration_template"), fields.get("put_demos_in_history")
    if names and template is None and not apart:
        raise TaskError(
            "demonstrations need demonstration_template, or put_demos_in_history: true."
        )
    made: list[dict[str, str]] = []
    budget = Budget(bytes=_LONGEST * 4)
    for name in names:
        file = inside(root_of(source), str(name), "demonstrations")
        messages = _messages(file, budget)
        if not apart:
            text = "\n".join(message["content"] for message in messages)
            shown = str(template).replace("{demonstration}", text)
            messages = [{"role": "user", "content": shown}]
        made += messages
        rows.mapped("demonstrations", f"{name}: {len(messages)} messages before the task")
    if template is not None and not names:
        rows.mapped("demonstration_template", "not needed: there are no demonstrations")
    return made


def _messages(file: Path, budget: Budget) -> list[dict[str, str]]:
    """Return what was said in a trajectory file, without its system prompt."""
    text = read_source(file)
    budget.take(file, len(text))
    try:
        history = json.loads(text)["history"]
        said = [(one["role"], one.get("content") or "") for one in history]
        if not all(isinstance(part, str) for one in said for part in one):
            raise ValueError("role and content are texts")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise TaskError(f"{file} is no trajectory with a history: {problem!r:.200}.") from problem
    return [{"role": role, "content": text} for role, text in said if role != "system"]


def _history(fields: Mapping[str, Any], made: dict[str, Any], rows: Rows) -> None:
    name = str(fields.get("history_processor") or "DefaultHistoryProcessor")
    arguments = fields.get("history_processor_args") or {}
    last = arguments.get("n") if isinstance(arguments, dict) else None
    if found := re.fullmatch(r"Last(\d{1,4})Observations", name):
        last = int(found[1])
    if name == "DefaultHistoryProcessor":
        made["keep_last"] = _ALL
        rows.adapted("history_processor", "all observations, as long as there is room")
    elif name == "LastNObservations" and type(last) is not int:
        raise TaskError(f"history_processor_args is {arguments!r:.80}; expected 'n: 5'.")
    elif (found or name == "LastNObservations") and last and 0 < last <= _ALL:
        made["keep_last"] = last
        rows.mapped("history_processor", f"keep_last {last}; one line stands for an older one")
    else:
        rows.left_out("history_processor", f"{name} is unknown; Ludus's own shortening is used")


def _parser(fields: Mapping[str, Any], rows: Rows) -> None:
    name = str(fields.get("output_parser") or "ThoughtActionParser")
    if _PARSERS.get(name) == "mapped":
        rows.mapped("output_parser", "one fenced block, the thought around it")
    elif name in _PARSERS:
        rows.adapted("output_parser", "one fenced block; a reply with several is refused")
    else:
        rows.left_out(
            "output_parser", f"{name}: replies are read as one fenced block; ask for that"
        )


def _tools(fields: Mapping[str, Any], rows: Rows) -> None:
    files = fields.get("command_files") or []
    if not isinstance(files, list):
        raise TaskError(f"command_files is {files!r:.80}; expected a list of files.")
    has: set[str] = set()
    for name in map(str, files):
        tools = _COMMANDS.get(PurePosixPath(name).name)
        if tools is None:
            rows.left_out("command_files", f"{name}: Ludus has no such tool")
        elif "edit" in tools or "insert" in tools:
            rows.adapted("command_files", f"{name}: {tools}; the lines follow as a here-document")
        else:
            rows.mapped("command_files", f"{name}: {tools or 'not needed'}")
        has |= set((tools or "").split())
    if files and (more := sorted(TOOLS.keys() - has)):
        rows.adapted("command_docs", f"Ludus's tools; also there: {', '.join(more)}")
    if (submit := fields.get("submit_command", "submit")) != "submit":
        rows.left_out("submit_command", f"{submit!r:.60}; the command is 'submit'")
    if "state_command" in fields:
        rows.adapted("state_command", "open file and folder come with every observation")
    for field in ("parser", "command_parser"):
        if field in fields:
            rows.adapted(f"tools.{field}", "command_docs has a line for each tool")
    for field in _SANDBOX:
        if field in fields:
            rows.left_out(field, "any command may be run; the sandbox limits what it can do")


_KNOWN = {
    *("system_template", "task_template", "next_step_template", "next_step_no_output_template"),
    *("strategy_template", "format_error_template", "demonstration_template", "demonstrations"),
    *("put_demos_in_history", "output_parser", "history_processor", "history_processor_args"),
    *("command_files", "env_variables", "submit_command", "state_command", "parser"),
    *("command_parser", *_SANDBOX),
}
