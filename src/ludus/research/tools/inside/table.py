"""What tools there are and what they take: one table for the sandbox and for the host."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TOOLS", "Parameter", "Tool"]


class Parameter(NamedTuple):
    """One argument of a tool.

    Args:
        name: as in a structured call.
        about: description, for people and models.
        kind: ``"string"``, or ``"integer"`` for the number of a line.
        required: whether it must be given.
        from_input: whether the command reads it from its input.
    """

    name: str
    about: str
    kind: str = "string"
    required: bool = True
    from_input: bool = False


class Tool(NamedTuple):
    """A tool.

    Args:
        about: description, for people and models.
        parameters: in the order of the command line.
        joins: whether the words of the command line are one argument.
    """

    about: str
    parameters: tuple[Parameter, ...] = ()
    joins: bool = False


_FOLDER = Parameter("folder", "Where to look; the current folder by default.", required=False)
_TEXT = Parameter("text", "The text; whole lines.", from_input=True)

TOOLS: dict[str, Tool] = {
    "open": Tool(
        "Open a text file and show it, with line numbers, around a line.",
        (
            Parameter("path", "The file."),
            Parameter("line", "The line to show; the first by default.", "integer", required=False),
        ),
    ),
    "goto": Tool(
        "Show the open file around a line.",
        (Parameter("line", "The line.", "integer"),),
    ),
    "scroll_up": Tool("Show the part of the open file before the one shown last."),
    "scroll_down": Tool("Show the part of the open file after the one shown last."),
    "create": Tool(
        "Make a new file and open it. A file that exists is left alone.",
        (
            Parameter("path", "The new file; its folder must exist."),
            _TEXT._replace(about="What it holds; nothing by default.", required=False),
        ),
    ),
    "edit": Tool(
        "Replace lines of the open file. If a Python or JSON file would no longer parse, nothing "
        "is changed and the reason is shown.",
        (Parameter("lines", "START:END, both included, such as 3:5."), _TEXT),
    ),
    "insert": Tool(
        "Put lines into the open file, with the same check as edit.",
        (Parameter("line", "The line after which; 0 for the top.", "integer"), _TEXT),
    ),
    "search_dir": Tool(
        "List the text files below a folder that hold a text, and how often.",
        (Parameter("text", "The text, taken as it is."), _FOLDER),
    ),
    "search_file": Tool(
        "List the lines of a file that hold a text.",
        (
            Parameter("text", "The text, taken as it is."),
            Parameter("path", "The file; the open one by default.", required=False),
        ),
    ),
    "find_file": Tool(
        "List the files below a folder by their names.",
        (Parameter("pattern", "A name, with * and ? as wildcards."), _FOLDER),
    ),
    "memory_write": Tool(
        "Keep a note for later in this episode.",
        (Parameter("text", "The note."),),
        joins=True,
    ),
    "memory_read": Tool(
        "Show the notes kept so far, or those that share most words with a query.",
        (Parameter("query", "Words to look for; all notes by default.", required=False),),
        joins=True,
    ),
    "validate": Tool(
        "Have the work as it is scored on the validation data. Validations are counted and may be "
        "limited. The score follows when the command has ended."
    ),
    "submit": Tool(
        "Hand in the work as it is and end the episode. It is scored on the test data, once."
    ),
}
