"""``ludus leaderboard``: rank the agents in a results store."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from ludus.bench.store import open_store
from ludus.bench.store.board import BoardRow, Leaderboard, TaskScore
from ludus.cli import options
from ludus.cli.console import FAILED, NOTHING, echo, fail, failing_on, make_table, out
from ludus.errors import Error
from ludus.record import trusted_keys
from ludus.terminal_text import printable

__all__ = ["run"]

_TASK_WIDTH, _MEAN_WIDTH = 28, 24
_EXPLAINED = (
    "Means are over n results. A fault of the agent counts as the task's floor; infrastructure "
    "faults do not count."
)


def run(
    store: Annotated[
        str | None,
        typer.Option(
            help="SQLite file or PostgreSQL URL.",
            show_default="$LUDUS_STORE, else ludus/results.sqlite in the data folder",
        ),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="Only this suite.")] = None,
    verified: Annotated[
        bool, typer.Option("--verified", help="Count only results verified by a trusted key.")
    ] = False,
    trust: options.Trusted = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Agents per leaderboard.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Rank the agents of each suite in a store.

    Exit code 1 if the store has no matching results, 2 if the store is missing or cannot be read.
    """
    with failing_on(Error, most=1000):
        keys = trusted_keys(trust or ())
        with open_store(store, create=False, trusted_keys=keys) as opened:
            boards = opened.leaderboard(suite, verified_only=verified, limit=limit)
    if as_json:
        echo(json.dumps([board.to_dict() for board in boards], indent=2))
    elif boards:
        out.print(Group(*map(_page, boards)))
    if not boards:
        fail("The store has no results" + (f" of suite {suite!r}." if suite else "."), FAILED)


def _page(board: Leaderboard) -> RenderableType:
    """Return a leaderboard as tables; all of it is plain text, not markup."""
    headings = ("", "agent", board.ranked_by, "tasks", "scored", "faults", "infra", "verified")
    title = printable(f"{board.suite} {board.suite_digest[:8]}", 80)
    table = make_table(title, *headings, right=set(headings) - {"agent"})
    for row in board.rows:
        table.add_row(*_cells(board, row))
    counts = f"{board.agents} agents, {board.results} results, {len(board.tasks)} tasks."
    told = [f"{counts} {_EXPLAINED}", *board.notes]
    return Group(table, *_means(board), *(_text(line, 1000) for line in told))


def _means(board: Leaderboard) -> list[RenderableType]:
    """Return the means by task, for as many agents as fit the width."""
    rows = board.rows[: max(1, (out.width - _TASK_WIDTH) // _MEAN_WIDTH)]
    if not rows or not board.tasks:
        return []
    table = make_table("mean per task", "task")
    for row in rows:
        table.add_column(_text(row.agent), justify="right", overflow="fold")
    for index, task in enumerate(board.tasks):
        table.add_row(_text(task.env), *(_mean(row.scores[index]) for row in rows))
    if len(rows) == len(board.rows):
        return [table]
    return [table, _text(f"Means of the first {len(rows)} agents; --json has all.")]


def _cells(board: Leaderboard, row: BoardRow) -> tuple[Text, ...]:
    whole = row.results > 0 and row.verified == row.results and not row.refuted
    verified = f"{'✓ ' if whole else ''}{row.verified}/{row.results}"
    if row.refuted:
        verified += f", {row.refuted} failed"
    style = "green" if whole else "red" if row.refuted else ""
    texts = (
        str(row.position),
        row.agent,
        NOTHING if row.value is None else f"{row.value:.3f}",
        f"{row.tasks}/{len(board.tasks)}",
        str(row.scored),
        str(row.agent_faults),
        str(row.infrastructure_faults),
    )
    return (*map(_text, texts), Text(verified, style=style))


def _mean(score: TaskScore | None) -> Text:
    if score is None:
        return Text(NOTHING)
    count, faults = score.scored + score.agent_faults, score.agent_faults
    mean = ("no score" if faults else NOTHING) if score.mean is None else f"{score.mean:.4g}"
    told = f", {faults} fault{'s' if faults > 1 else ''}" if faults else ""
    return Text(f"{mean} (n={count}{told})")


def _text(value: str, most: int = 80) -> Text:
    return Text(printable(value, most))
