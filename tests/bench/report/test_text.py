from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.bench.report.chart_frame import AxisScale, domain_of
from ludus.bench.report.markup import Markup, element, plain
from ludus.bench.report.text import (
    ABSENT,
    interval,
    number,
    plural,
    ratio,
    ratio_interval,
    share,
    shorten,
    shorten_to_width,
    width_of,
)
from ludus.terminal_text import visible

any_text = st.text(st.characters(codec=None))
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(any_text)
def test_nothing_invisible_is_left(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in shown)
    assert visible(shown) == shown


def test_what_hides_is_spelled_out():
    assert visible("a\u202eb\x00c\ud800d\n") == "a\\u202eb\\u0000c\\ud800d\\u000a"
    assert visible("é" + "\u0301" * 5) == "é\u0301\u0301\u0301\\u0301\\u0301"
    assert visible("שלום 漢字 é") == "שלום 漢字 é"


@given(any_text, st.integers(3, 200))
def test_short_texts_are_kept_and_long_ones_cut(text, limit):
    short = shorten(text, limit)
    assert len(short) <= limit
    assert (short == text) == (len(text) <= limit)


@given(any_text, st.floats(5, 60))
def test_names_in_charts_are_no_wider_than_their_place(text, width):
    assert width_of(shorten_to_width(text, width)) <= width


@given(any_text)
def test_text_cannot_become_markup(text):
    written = element("p", text, title=text)
    for piece in (plain(text), written.removeprefix("<p").removesuffix("</p>")):
        assert "<" not in piece
    assert written.count('"') == 2 or not text


def test_markup_is_not_escaped_twice():
    assert element("p", element("b", "a&b")) == "<p><b>a&amp;b</b></p>"
    assert element("br") == "<br>"
    assert element("a", class_="x", aria_label=None, open="") == '<a class="x" open></a>'
    assert isinstance(plain("x"), Markup)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, ABSENT),
        (math.nan, ABSENT),
        (math.inf, ABSENT),
        (0.0, "0"),
        (-0.0, "0"),
        (1234.5678, "1235"),
        (0.012345, "0.01235"),
        (1e300, "1.000e+300"),
        (-2.5, "-2.500"),
    ],
)
def test_numbers(value, told):
    assert number(value) == told


def test_intervals_and_shares():
    assert interval(None, None) == ratio_interval(None, None) == ABSENT
    assert interval(1.0, math.nan) == ABSENT
    assert ratio_interval(-0.00001, 0.5) == "[0.000, 0.500]"
    assert ratio(1e9) == "1.000e+09"
    assert (share(3, 4000), plural(1, "run"), plural(0, "run")) == ("3 of 4,000", "1 run", "0 runs")


@given(st.lists(finite, max_size=5), st.integers(2, 12))
def test_scales_hold_any_finite_numbers(values, about):
    scale = AxisScale(*domain_of(values), 10.0, 200.0)
    ticks = scale.ticks(about)
    assert all(10.0 <= scale(value) <= 200.0 for value in (*values, *(v for v, _ in ticks)))
    assert len(ticks) <= about + 2
    assert not any(word in text for _, text in ticks for word in ("nan", "inf"))


def test_ticks_are_round_and_share_their_unit():
    assert [text for _, text in AxisScale(0, 200_000, 0, 1).ticks(4)] == [
        "0",
        "50k",
        "100k",
        "150k",
        "200k",
    ]
    assert [text for _, text in AxisScale(0, 1, 0, 1).ticks(4)] == [
        "0",
        "0.25",
        "0.50",
        "0.75",
        "1.00",
    ]
    assert [text for _, text in AxisScale(-2, 2, 0, 1).ticks(4)] == ["-2", "-1", "0", "1", "2"]
