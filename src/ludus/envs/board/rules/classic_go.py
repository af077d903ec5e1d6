"""Go as OpenAI Gym's Go9x9-v0 played it.

Area scoring without komi and without removing dead stones; only immediate recapture of a single
stone is ko; groups of several stones may kill themselves; two passes end the game once a stone has
been played.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.spaces import Box

__all__ = ["ClassicGo", "ClassicGoPosition"]

_EMPTY = 2
"""Value of an empty point."""


_PLANES = np.arange(3, dtype=np.uint8).reshape(3, 1, 1)


class ClassicGo:
    """The rules for a board of ``size`` times ``size`` points."""

    colors = ("black", "white")

    def __init__(self, size: int) -> None:
        self.name = "classic-go"
        self.size = size
        self.pass_move: int | None = size * size
        self.moves = size * size + 1
        self.observation_space = Box(0, 1, (3, size, size), np.int64)
        self.neighbours = [
            [
                (row + down) * size + column + right
                for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
                if 0 <= row + down < size and 0 <= column + right < size
            ]
            for row in range(size)
            for column in range(size)
        ]

    def start(self, rng: np.random.Generator) -> ClassicGoPosition:
        """Return the empty board; black moves first."""
        return ClassicGoPosition(self)

    def resume(self, history: list[int]) -> ClassicGoPosition:
        """Return the position after a list of moves."""
        position = ClassicGoPosition(self)
        for action in history:
            move = int(action)
            if not 0 <= move < self.moves or not position.mask()[move]:
                raise ValueError(f"{action!r} is no legal move in\n{position.text()}")
            position.move(move)
        return position


class _Chain:
    """Stones of one colour that are joined, and the empty points beside them."""

    __slots__ = ("liberties", "stones")

    def __init__(self, stone: int, liberties: set[int]) -> None:
        self.stones = {stone}
        self.liberties = liberties


class ClassicGoPosition:
    """A board, who moves, and the point that ko forbids."""

    def __init__(self, rules: ClassicGo) -> None:
        self.rules = rules
        self.history: list[int] = []
        self.to_move = 0
        self.points = bytearray([_EMPTY]) * (rules.size * rules.size)
        self.captures = [0, 0]
        self.ko: int | None = None
        self._chains: dict[int, _Chain] = {}
        self._passes = 0
        self._stones = 0
        self._mask: NDArray[np.int8] | None = None

    @property
    def last(self) -> int | None:
        """The last move."""
        return self.history[-1] if self.history else None

    @property
    def over(self) -> bool:
        """Whether both players passed in turn, after a stone was played."""
        return self._passes >= 2 and self._stones > 0

    def legal(self) -> list[int]:
        """Return the points that may be played, and passing."""
        moves: list[int] = np.flatnonzero(self.mask()).tolist()
        return moves

    def mask(self) -> NDArray[np.int8]:
        """Return 1 for each point that may be played, and for passing."""
        if self._mask is None:
            self._mask = np.zeros(self.rules.moves, dtype=np.int8)
            if not self.over:
                self._mask[:-1] = self._allowed()
                self._mask[-1] = 1
        return self._mask

    def _allowed(self) -> NDArray[np.bool_]:
        size = self.rules.size
        points = self._grid()
        friendly = np.zeros((size + 2, size + 2), dtype=np.bool_)
        friendly[1:-1, 1:-1] = (points == _EMPTY) | (points == self.to_move)
        # Next to an empty point or a friendly stone there is no suicide of a single stone.
        near = friendly[:-2, 1:-1] | friendly[2:, 1:-1] | friendly[1:-1, :-2] | friendly[1:-1, 2:]
        empty = points == _EMPTY
        allowed: NDArray[np.bool_] = (empty & near).ravel()
        for point in np.flatnonzero(empty & ~near).tolist():
            beside = (self._chains[n] for n in self.rules.neighbours[point])
            allowed[point] = any(len(chain.liberties) == 1 for chain in beside)
        if self.ko is not None:
            allowed[self.ko] = False
        return allowed

    def play(self, action: int, rng: np.random.Generator) -> None:
        """Make a legal move."""
        self.move(action)

    def move(self, action: int) -> None:
        """Make a legal move."""
        player, other = self.to_move, 1 - self.to_move
        self.history.append(action)
        self.to_move, self.ko, self._mask = other, None, None
        if action == self.rules.pass_move:
            self._passes += 1
            return
        self._passes = 0
        self._stones += 1
        chain = self._join(action, player)
        taken: set[int] = set()
        for n in self.rules.neighbours[action]:
            if self.points[n] == other:
                self._chains[n].liberties.discard(action)
                if not self._chains[n].liberties:
                    taken |= self._remove(self._chains[n])
        self.captures[player] += len(taken)
        if not chain.liberties:
            self.captures[other] += len(self._remove(chain))
        elif len(taken) == 1 and len(chain.stones) == 1:
            # Only a stone whose single liberty is that point could be recaptured at once.
            self.ko = min(taken) if chain.liberties == taken else None

    def _join(self, point: int, player: int) -> _Chain:
        """Put a stone on the board and join it to its friends."""
        self.points[point] = player
        around = self.rules.neighbours[point]
        chain = _Chain(point, {n for n in around if self.points[n] == _EMPTY})
        for n in around:
            friend = self._chains[n] if self.points[n] == player else chain
            if friend is chain:
                continue
            small, large = sorted((chain, friend), key=lambda each: len(each.stones))
            large.stones |= small.stones
            large.liberties |= small.liberties
            self._chains.update(dict.fromkeys(small.stones, large))
            chain = large
        chain.liberties.discard(point)
        self._chains[point] = chain
        return chain

    def _remove(self, chain: _Chain) -> set[int]:
        for stone in chain.stones:
            self.points[stone] = _EMPTY
            del self._chains[stone]
        for stone in chain.stones:
            for n in self.rules.neighbours[stone]:
                if n in self._chains:
                    self._chains[n].liberties.add(stone)
        return chain.stones

    def _region(self, point: int) -> set[int]:
        """Return the empty points that are joined with one."""
        region, todo = {point}, [point]
        while todo:
            for n in self.rules.neighbours[todo.pop()]:
                if self.points[n] == _EMPTY and n not in region:
                    region.add(n)
                    todo.append(n)
        return region

    def score(self) -> int:
        """Return white's area minus black's; positive means that white wins."""
        area = [self.points.count(0), self.points.count(1)]
        seen: set[int] = set()
        for point, color in enumerate(self.points):
            if color == _EMPTY and point not in seen:
                region = self._region(point)
                seen |= region
                around = {self.points[n] for p in region for n in self.rules.neighbours[p]}
                owners = around - {_EMPTY}
                if len(owners) == 1:
                    area[owners.pop()] += len(region)
        return area[1] - area[0]

    def results(self) -> tuple[float, float]:
        """Return 1 for the winner, -1 for the loser, 0 to both for a draw or during a game."""
        white = float(np.sign(self.score())) if self.over else 0.0
        return -white, white

    def observation(self, player: int) -> NDArray[Any]:
        """Return planes of black stones, white stones, empty points; row 0 is on top."""
        planes: NDArray[Any] = self._grid() == _PLANES
        return planes.astype(np.int64)

    def _grid(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.points, np.uint8).reshape(self.rules.size, self.rules.size)

    def squares(self) -> list[str]:
        """Return the rows of the board."""
        cells = "".join("xo."[color] for color in self.points)
        size = self.rules.size
        return [cells[start : start + size] for start in range(0, size * size, size)]

    def text(self) -> str:
        """Return the board with the state of the game above it."""
        size = self.rules.size
        black, white = self.captures
        edge = "    +-" + "--" * size + "+\n"
        letters = " ".join("ABCDEFGHJKLMNOPQRSTUVWXYZ"[:size])
        lines = [
            f"To play: {self.rules.colors[self.to_move]}\n",
            f"Move: {self._stones:3d}  Komi: 0.0  Handicap: 0  Captures B: {black} W: {white}\n",
            f"      {letters} \n",
            edge,
        ]
        for row in range(size):
            cells = ""
            for point in range(row * size, (row + 1) * size):
                cells += "XO."[self.points[point]] + (")" if point == self.last else " ")
            lines.append(f" {size - row:2d} | {cells}|\n")
        return "".join([*lines, edge])
