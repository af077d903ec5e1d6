"""Next bytes, asked for without telling them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading.prediction import CONTEXT, GAP, RUN, cut_windows, mean_bits

WIDTH = CONTEXT + RUN


class Fake:
    """Stands for submitted code; every call takes a second."""

    def __init__(self, predict):
        self.predict, self.seconds, self.timeouts = predict, 0.0, []

    def call(self, function, *args, timeout, max_bytes):
        assert function == "predict"
        self.seconds += 1.0
        self.timeouts.append(timeout)
        return self.predict(*args)


class Rememberer:
    """Searches all that it was ever shown for what comes next."""

    def __init__(self):
        self.seen, self.found = [], 0

    def __call__(self, contexts):
        self.seen += [bytes(context) for context in contexts]
        shown = b"\n--\n".join(self.seen)
        chances = uniform(contexts)
        for row, context in enumerate(contexts):
            place = shown.find(bytes(context[-12:]))
            while place >= 0:
                following = shown[place + 12 : place + 13]
                if following not in (b"", b"\n"):
                    self.found += 1
                    chances[row] = 0
                    chances[row, following[0]] = 1
                    break
                place = shown.find(bytes(context[-12:]), place + 1)
        return chances


def uniform(contexts):
    return np.full((len(contexts), 256), 1 / 256)


def random_text(size, seed=0):
    # No line ends: these separate what a Rememberer was shown.
    return np.random.default_rng(seed).integers(32, 127, size, np.uint8).tobytes()


def test_windows_do_not_overlap_and_leave_gaps():
    text = random_text(10 * (WIDTH + GAP) + WIDTH + GAP - 1)
    windows = cut_windows([text], most=100, seed=0)
    starts = sorted(text.index(bytes(window)) for window in windows)
    assert starts == list(range(0, 10 * (WIDTH + GAP), WIDTH + GAP))
    assert starts[-1] + WIDTH + GAP <= len(text)


def test_the_seed_draws_windows():
    text = random_text(50 * (WIDTH + GAP))
    few = cut_windows([text], most=20, seed=3)
    assert few.shape == (20, WIDTH)
    assert np.array_equal(few, cut_windows([text], most=20, seed=3))
    assert not np.array_equal(few, cut_windows([text], most=20, seed=4))


def test_passages_that_are_too_short_have_no_windows():
    short = random_text(WIDTH + GAP - 1)
    assert len(cut_windows([short, random_text(WIDTH + GAP), short], most=9, seed=0)) == 1
    with pytest.raises(GradingFailed, match="No passage"):
        cut_windows([short], most=9, seed=0)


def test_knowing_nothing_costs_eight_bits():
    windows = cut_windows([random_text(9_000)], most=9, seed=0)
    assert mean_bits(Fake(uniform), windows, seconds=60) == pytest.approx(8.0, abs=1e-12)


def test_bits_are_those_of_the_target():
    windows = cut_windows([bytes([7, 9] * 2_000)], most=9, seed=0)

    def half_sure(contexts):
        chances = np.zeros((len(contexts), 256), np.float32)
        chances[np.arange(len(contexts)), 16 - contexts[:, -1].astype(int)] = 0.5
        chances[:, 1] = 0.5
        return chances

    assert mean_bits(Fake(half_sure), windows, seconds=60) == pytest.approx(1.0, abs=1e-5)


def test_what_is_called_impossible_is_expensive_and_finite():
    windows = cut_windows([bytes(4_000)], most=9, seed=0)

    def wrong(contexts):
        chances = np.zeros((len(contexts), 256))
        chances[:, 255] = 1
        return chances

    assert mean_bits(Fake(wrong), windows, seconds=60) == pytest.approx(math.log2(256e6))


def test_no_question_tells_what_will_be_asked():
    """Whoever remembers everything and looks everywhere finds nothing in a random text."""
    windows = cut_windows(
        [random_text(40 * (WIDTH + GAP), 1), random_text(9_000, 2)], most=40, seed=0
    )
    cheat = Rememberer()
    assert mean_bits(Fake(cheat), windows, seconds=60) == pytest.approx(8.0)
    assert cheat.found == 0
    assert len(cheat.seen) == RUN * len(windows)


def test_the_gap_after_a_window_is_never_shown():
    text = random_text(20 * (WIDTH + GAP))
    windows = cut_windows([text], most=40, seed=0)
    cheat = Rememberer()
    mean_bits(Fake(cheat), windows, seconds=60)
    shown = b"".join(cheat.seen)
    for start in range(WIDTH, len(text), WIDTH + GAP):
        assert text[start : start + 12] not in shown
        assert text[start + GAP - 12 : start + GAP] not in shown


def test_all_calls_share_the_time():
    windows = cut_windows([random_text(4_000)], most=9, seed=0)
    code = Fake(uniform)
    code.seconds = 5.0
    mean_bits(code, windows, seconds=20)
    assert code.timeouts[:3] == [20, 19, 18]
    assert code.timeouts[25:] == [1e-3] * (RUN - 25)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda chances: chances.tolist(), "returned a list"),
        (lambda chances: (chances * 256).astype(np.int64), "array of int64"),
        (lambda chances: chances.astype(complex), "array of complex128"),
        (lambda chances: chances[:-1], r"shape \(9, 256\): .* shape \(8, 256\)"),
        (lambda chances: chances[:, :-1], r"shape \(9, 255\)"),
        (lambda chances: chances[None], "shape"),
        (lambda chances: chances * 1.01, "add up to 1"),
        (lambda chances: chances * 0, "add up to 1"),
        (lambda chances: chances + np.eye(9, 256) - np.eye(9, 256, 1), "at least 0"),
        (lambda chances: chances * np.nan, "add up to 1"),
        (lambda chances: chances + np.inf, "add up to 1"),
    ],
)
def test_answers_that_are_no_probabilities_are_refused(answer, said):
    windows = cut_windows([random_text(4_000)], most=9, seed=0)
    with pytest.raises(SubmissionRejected, match=said):
        mean_bits(Fake(lambda contexts: answer(uniform(contexts))), windows, seconds=60)


def test_small_deviations_of_the_sum_gain_nothing():
    windows = cut_windows([random_text(4_000)], most=9, seed=0)
    generous = Fake(lambda contexts: uniform(contexts) * 1.0009)
    assert mean_bits(generous, windows, seconds=60) == pytest.approx(8.0, abs=1e-12)
