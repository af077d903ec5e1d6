"""``ludus leaderboard``: agents in order, over a store."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ludus.bench.store import open_store
from ludus.bench.store.board import BoardRow, Leaderboard, TaskScore
from ludus.cli.bench_options import Believe
from ludus.cli.console import FAILED, echo, fail, out
from ludus.errors import Error
from ludus.record import trusted_keys
from ludus.terminal_text import printable

__all__ = ["run"]

_TASK_WIDTH, _MEAN_WIDTH = 28, 24
_EXPLAINED = (
    "A task's mean is over its n results that count; an agent's fault counts as the floor of its "
    "task, an infrastructure fault not at all."
)


def run(
    store: Annotated[
        str | None,
        typer.Option(
            help="Path of an SQLite file, or a PostgreSQL URL.",
            show_default="$LUDUS_STORE, else ludus/results.sqlite in the data folder",
        ),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    verified: Annotated[
        bool, typer.Option("--verified", help="Count only results that a trusted key verified.")
    ] = False,
    trust: Believe = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows per board.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank the agents of each suite in a store.

    Exit code 1 if the store has no such results, 2 if there is no store or it cannot be read.
    """
    try:
        keys = trusted_keys(trust or ())
        with open_store(store, create=False, trusted_keys=keys) as opened:
            boards = opened.leaderboard(suite, verified_only=verified, limit=limit)
    except Error as problem:
        fail(printable(problem, 1000))
    if as_json:
        echo(json.dumps([board.to_dict() for board in boards], indent=2))
    elif boards:
        out.print(Group(*map(_page, boards)))
    if not boards:
        fail("The store has no results" + (f" of suite {suite!r}." if suite else "."), FAILED)


def _page(board: Leaderboard) -> RenderableType:
    """Return a board for people; everything in it is text, never markup."""
    table = _table(f"{board.suite} {board.suite_digest[:8]}")
    headings = ("", "agent", board.ranked_by, "tasks", "scored", "faults", "infra", "verified")
    for heading in headings:
        named = heading == "agent"
        table.add_column(heading, justify="left" if named else "right", overflow="fold")
    for row in board.rows:
        table.add_row(*_cells(board, row))
    counts = f"{board.agents} agents, {board.results} results, {len(board.tasks)} tasks."
    told = [f"{counts} {_EXPLAINED}", *board.notes]
    return Group(table, *_means(board), *(_text(line, 1000) for line in told))


def _means(board: Leaderboard) -> list[RenderableType]:
    """Return the means by task, of as many agents as there is room for."""
    rows = board.rows[: max(1, (out.width - _TASK_WIDTH) // _MEAN_WIDTH)]
    if not rows or not board.tasks:
        return []
    table = _table("mean per task")
    table.add_column("task", overflow="fold")
    for row in rows:
        table.add_column(_text(row.agent), justify="right", overflow="fold")
    for index, task in enumerate(board.tasks):
        table.add_row(_text(task.env), *(_mean(row.scores[index]) for row in rows))
    if len(rows) == len(board.rows):
        return [table]
    return [table, _text(f"Means of the first {len(rows)} agents; --json has all.")]


def _table(title: str) -> Table:
    return Table(title=_text(title), title_justify="left")


def _cells(board: Leaderboard, row: BoardRow) -> tuple[Text, ...]:
    whole = row.results > 0 and row.verified == row.results and not row.refuted
    verified = f"{'✓ ' if whole else ''}{row.verified}/{row.results}"
    if row.refuted:
        verified += f", {row.refuted} failed"
    style = "green" if whole else "red" if row.refuted else ""
    texts = (
        str(row.position),
        row.agent,
        "–" if row.value is None else f"{row.value:.3f}",
        f"{row.tasks}/{len(board.tasks)}",
        str(row.scored),
        str(row.agent_faults),
        str(row.infrastructure_faults),
    )
    return (*map(_text, texts), Text(verified, style=style))


def _mean(score: TaskScore | None) -> Text:
    if score is None:
        return Text("–")
    count, faults = score.scored + score.agent_faults, score.agent_faults
    mean = ("no score" if faults else "–") if score.mean is None else f"{score.mean:.4g}"
    told = f", {faults} fault{'s' if faults > 1 else ''}" if faults else ""
    return Text(f"{mean} (n={count}{told})")


def _text(value: str, most: int = 80) -> Text:
    return Text(printable(value, most))
