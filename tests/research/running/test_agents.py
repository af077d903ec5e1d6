"""Agents by name."""

from __future__ import annotations

import pytest

from ludus.errors import ResearchError
from ludus.research.running.agents import make_agent, parse_agent, parse_options
from ludus.research.running.options import EpisodeOptions


def test_options_are_yaml():
    found = parse_options(["style=text", "caps={calls: 3}", "temperature=0.5"])
    assert found == {"style": "text", "caps": {"calls": 3}, "temperature": 0.5}
    for wrong in ("x", "=1", "a b=1", "a=[1"):
        with pytest.raises(ResearchError, match="option"):
            parse_options([wrong])
    with pytest.raises(ResearchError, match="each key once"):
        parse_options(["a=1", "a=2"])


def test_names():
    assert parse_agent("random", {}).name == "random"
    assert parse_agent("mine=random", {}).name == "mine"
    spec = parse_agent("react", {"model": "m"})
    assert (spec.name, spec.use, spec.options) == ("react-m", "react", {"model": "m"})
    assert parse_agent("some.module:Agent", {"x": 1}).use == "some.module:Agent"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("reakt", {}, "Did you mean 'react'"),
        ("react", {}, "give --model NAME"),
        ("scripted", {}, "--agent-option file=PATH"),
        ("react", {"model": "m", "contxt_tokens": 1}, "Did you mean 'context_tokens'"),
        ("react", {"model": "m", "api_key": "secret"}, "Set OPENAI_API_KEY"),
        ("human", {"x": 1}, "It has none"),
        ("nowhere.py:Agent", {}, "there is no file nowhere.py"),
    ],
)
def test_what_is_no_agent(text, options, words):
    with pytest.raises(ResearchError, match=words) as caught:
        parse_agent(text, options)
    assert "secret" not in str(caught.value)


def test_a_model_is_held_to_the_limits_of_the_episode():
    spec = parse_agent("react", {"model": "m", "prices": {"m": {"input": 1, "output": 2}}})
    limits = EpisodeOptions(cost_limit=2.0, time_limit=60.0, base_url="http://127.0.0.1:1/v1")
    agent = make_agent(spec, None, 0, limits)
    assert (agent.config.caps.cost, agent.config.caps.seconds) == (2.0, 60.0)
    assert agent.config.base_url == "http://127.0.0.1:1/v1"
    with pytest.raises(ResearchError, match="needs the model's price"):
        make_agent(parse_agent("react", {"model": "m"}), None, 0, limits)
    with pytest.raises(ResearchError, match="Caps are tokens, cost, seconds, calls"):
        make_agent(
            parse_agent("react", {"model": "m", "caps": {"dollars": 1}}), None, 0, EpisodeOptions()
        )
