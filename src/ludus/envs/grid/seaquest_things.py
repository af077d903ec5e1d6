"""The things in the sea: shots, bombs, fish, submarines and divers, each kind in a list.

A list is the first rows of an array, oldest first. Each is walked from its end, so that things can
be taken out on the way.
"""

from __future__ import annotations

from typing import Any

from ludus.envs.grid.minatar import SIZE, inside

__all__ = [
    "BOMB_INTERVAL",
    "CAPACITY",
    "DIVERS",
    "DIVER_MOVE_INTERVAL",
    "FISH",
    "KINDS",
    "NUMBERS",
    "RIGHTWARD",
    "SHOTS",
    "SUBS",
    "X",
    "Y",
    "append",
    "move_things",
    "things_inside",
]

KINDS = 5
SHOTS, BOMBS, FISH, SUBS, DIVERS = range(KINDS)
NUMBERS = 5
X, Y, RIGHTWARD, WAIT, RELOAD = range(NUMBERS)
CAPACITY = 64
"""Capacity: at most one enemy appears per step, stays 60 steps, and has one bomb at a time."""
BOMB_INTERVAL, DIVER_MOVE_INTERVAL = 10, 5


def move_things(state: Any, x: int, y: int, room: int) -> tuple[int, int, bool]:
    """Move everything around the submarine at ``x, y``, which can take ``room`` more divers.

    Returns:
        How many enemies were shot, how many divers came on board, whether the submarine was hit.
    """
    shot = move_shots(state)
    boarded = move_divers(state, x, y, room)
    more_subs, rammed = move_subs(state, x, y, state.move_interval)
    bombed = move_bombs(state, x, y)
    more_fish, bitten = move_fish(state, x, y, state.move_interval)
    return shot + more_subs + more_fish, boarded, rammed or bombed or bitten


def append(state: Any, kind: int, x: int, y: int, rightward: int, wait: int, reload: int) -> None:
    """Append a thing to its list, unless the list is full, as in a state set from outside."""
    if state.counts[kind] >= CAPACITY:
        return
    row = state.things[kind, state.counts[kind]]
    row[X] = x
    row[Y] = y
    row[RIGHTWARD] = rightward
    row[WAIT] = wait
    row[RELOAD] = reload
    state.counts[kind] += 1


def things_inside(state: Any) -> bool:
    """Return whether all lists are within their capacity and contain only things in the sea."""
    for kind in range(KINDS):
        if not 0 <= state.counts[kind] <= CAPACITY:
            return False
        for i in range(state.counts[kind]):
            row = state.things[kind, i]
            if not inside(row[X], row[Y]):
                return False
    return True


def take_out(state: Any, kind: int, i: int) -> None:
    """Remove a row, and close the gap."""
    state.counts[kind] -= 1
    for k in range(i, state.counts[kind]):
        for number in range(NUMBERS):
            state.things[kind, k, number] = state.things[kind, k + 1, number]


def find(state: Any, kind: int, x: int, y: int) -> int:
    """Return the first row at a place, -1 if there is none."""
    for i in range(state.counts[kind]):
        if state.things[kind, i, X] == x and state.things[kind, i, Y] == y:
            return i
    return -1


def move(row: Any) -> bool:
    """Move a thing one column; return whether it is still in the sea."""
    row[X] += 1 if row[RIGHTWARD] == 1 else -1
    return bool(0 <= row[X] < SIZE)


def move_shots(state: Any) -> int:
    """Move the submarine's shots; return how many enemies they hit."""
    hits = 0
    for i in range(state.counts[SHOTS] - 1, -1, -1):
        row = state.things[SHOTS, i]
        if not move(row):
            take_out(state, SHOTS, i)
            continue
        kind = FISH
        target = find(state, FISH, row[X], row[Y])
        if target < 0:
            kind = SUBS
            target = find(state, SUBS, row[X], row[Y])
        if target >= 0:
            take_out(state, kind, target)
            take_out(state, SHOTS, i)
            hits += 1
    return hits


def move_divers(state: Any, x: int, y: int, room: int) -> int:
    """Move the divers; return how many came on board the submarine at ``x, y``."""
    boarded = 0
    for i in range(state.counts[DIVERS] - 1, -1, -1):
        row = state.things[DIVERS, i]
        inside = True
        boards = boarded < room and row[X] == x and row[Y] == y
        if not boards:
            if row[WAIT] > 0:
                row[WAIT] -= 1
                continue
            row[WAIT] = DIVER_MOVE_INTERVAL
            inside = move(row)
            boards = boarded < room and row[X] == x and row[Y] == y
        if boards:
            boarded += 1
        if boards or not inside:
            take_out(state, DIVERS, i)
    return boarded


def move_subs(state: Any, x: int, y: int, interval: int) -> tuple[int, bool]:
    """Move the enemy's submarines; return how many were shot, and whether one hit.

    One that is shot still drops a bomb that is due.
    """
    hits = 0
    hit = False
    for i in range(state.counts[SUBS] - 1, -1, -1):
        row = state.things[SUBS, i]
        hit = hit or (row[X] == x and row[Y] == y)
        next_x, next_y, rightward = row[X], row[Y], row[RIGHTWARD]
        due = row[RELOAD] == 0
        row[RELOAD] = BOMB_INTERVAL if due else row[RELOAD] - 1
        if row[WAIT] > 0:
            row[WAIT] -= 1
        else:
            next_x += 1 if rightward == 1 else -1
            shot_down, caught = advance(state, SUBS, i, x, y, interval)
            hits += shot_down
            hit = hit or caught
        if due:
            append(state, BOMBS, next_x, next_y, rightward, 0, 0)
    return hits, hit


def move_fish(state: Any, x: int, y: int, interval: int) -> tuple[int, bool]:
    """Move the fish; return how many were shot, and whether one hit."""
    hits = 0
    hit = False
    for i in range(state.counts[FISH] - 1, -1, -1):
        row = state.things[FISH, i]
        hit = hit or (row[X] == x and row[Y] == y)
        if row[WAIT] > 0:
            row[WAIT] -= 1
        else:
            shot_down, caught = advance(state, FISH, i, x, y, interval)
            hits += shot_down
            hit = hit or caught
    return hits, hit


def advance(state: Any, kind: int, i: int, x: int, y: int, interval: int) -> tuple[int, bool]:
    """Move an enemy into the next column, and out if it leaves the sea or meets a shot.

    Returns:
        1 if it met a shot, else 0; whether it hit the submarine at ``x, y``.
    """
    row = state.things[kind, i]
    row[WAIT] = interval
    if not move(row):
        take_out(state, kind, i)
        return 0, False
    if row[X] == x and row[Y] == y:
        return 0, True
    shot = find(state, SHOTS, row[X], row[Y])
    if shot < 0:
        return 0, False
    take_out(state, SHOTS, shot)
    take_out(state, kind, i)
    return 1, False


def move_bombs(state: Any, x: int, y: int) -> bool:
    """Move the enemy's bombs; return whether one hit the submarine at ``x, y``."""
    hit = False
    for i in range(state.counts[BOMBS] - 1, -1, -1):
        row = state.things[BOMBS, i]
        hit = hit or (row[X] == x and row[Y] == y)
        if move(row):
            hit = hit or (row[X] == x and row[Y] == y)
        else:
            take_out(state, BOMBS, i)
    return bool(hit)
