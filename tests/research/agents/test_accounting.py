from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.errors import ResearchError
from ludus.research.agents import AgentStopped, Caps, Price, StopReason, price_table
from ludus.research.agents.accounting import Meter


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_prices_are_for_a_million_tokens():
    price = Price(input=2.0, output=10.0, cached=0.5)
    assert price.of(1_000_000, 500_000) == 7.0
    assert price.of(1_000_000, 0, cached=400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    assert Price(input=2.0).of(10**6, 10**6, cached=10**6) == 2.0


def test_a_table_of_prices():
    table = price_table({"a": {"input": 1, "output": 2}, "b": Price(3, 4)})
    assert table == {"a": Price(1, 2), "b": Price(3, 4)}


@pytest.mark.parametrize(
    "entry", [{"in": 1}, {"input": -1}, {"input": math.nan}, {"input": math.inf}, {"input": "1"}]
)
def test_what_is_no_price_is_refused(entry):
    with pytest.raises(ResearchError, match="'m'"):
        price_table({"m": entry})


@given(
    st.integers(0, 20_000),
    st.floats(0, 2),
    st.lists(st.tuples(st.integers(1, 3000), st.floats(0, 1)), max_size=40),
)
def test_no_cap_is_broken_however_long_replies_become(tokens, cost, calls):
    meter = Meter(Caps(tokens=tokens, cost=cost), Price(input=30.0, output=90.0))
    for prompt, share in calls:
        try:
            allowed = meter.admit(prompt, 1000)
        except AgentStopped:
            continue
        assert 0 < allowed <= 1000
        meter.add(prompt, int(allowed * share))
    assert meter.usage.tokens <= tokens
    assert meter.usage.cost <= cost * (1 + 1e-9)


def test_time_runs_from_the_start_and_ends():
    clock = Clock()
    meter = Meter(Caps(seconds=10), clock=clock)
    clock.now += 50
    meter.start()
    clock.now += 9
    meter.start()
    assert meter.admit(1, 100) == 100
    assert meter.seconds_left == 1
    clock.now += 1
    with pytest.raises(AgentStopped) as stopped:
        meter.admit(1, 100)
    assert stopped.value.reason is StopReason.TIME


def test_a_free_model_has_no_trouble_with_a_cap_on_cost():
    assert Meter(Caps(cost=0.0), Price()).admit(5000, 100) == 100


def test_an_account_goes_on_elsewhere():
    clock = Clock()
    meter = Meter(Caps(seconds=10), Price(1, 1), clock)
    meter.start()
    clock.now += 4
    meter.add(100, 50, cached=20, retries=2)
    state = json.loads(json.dumps(meter.get_state()))
    clock.now += 1000
    other = Meter(Caps(seconds=10), Price(1, 1), clock)
    other.set_state(state)
    other.start()
    clock.now += 5
    assert other.usage == meter.usage
    assert other.seconds_left == pytest.approx(1)
