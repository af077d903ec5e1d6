from __future__ import annotations

import random

from ludus.research.grading import Score

HIGH, GAMES = 31, 20


def grade(submission, labels, seed, split):
    code = submission.code("guess.py")
    rng = random.Random(f"{split} {seed}")
    taken = [_game(code, rng.randint(0, HIGH)) for _ in range(GAMES)]
    return Score(sum(taken) / GAMES, {"games": GAMES})


def _game(code, wanted):
    answers = []
    while len(answers) < HIGH + 1:
        number = code.call("guess", 0, HIGH, answers, timeout=5.0, returns=int)
        if number == wanted:
            return len(answers) + 1
        answers.append([number, "less" if wanted < number else "more"])
    return HIGH + 1
