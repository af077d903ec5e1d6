from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.research.agents.history import History, Turn, estimate_tokens, shorten


def history_of(outputs, **options):
    history = History(**options)
    history.system, history.task, history.opening = "rules", "the task", "the opening"
    for n, output in enumerate(outputs):
        turn = Turn(
            f"thought {n}", "shell", f'{{"command": "c{n}"}}', f"id{n}", output, f"label {n}"
        )
        history.turns.append(turn)
    return history


def test_everything_is_shown_while_it_is_short():
    messages = history_of(["one", "two"]).messages()
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"] + [
        "assistant",
        "tool",
    ]
    assert messages[1]["content"] == "the task\n\nthe opening"
    assert [m["content"] for m in messages[3::2]] == ["one", "two"]


def test_outputs_of_first_and_last_steps_stay_and_actions_all_do():
    outputs = [f"output {n}" for n in range(12)]
    messages = history_of(outputs, keep_first=2, keep_last=3).messages()
    shown = [m["content"] for m in messages if m["role"] == "tool"]
    assert shown[:2] == outputs[:2]
    assert shown[-3:] == outputs[-3:]
    assert shown[2:-3] == [f"[output left out: label {n}]" for n in range(2, 9)]
    assert sum("tool_calls" in m for m in messages) == 12


def test_narrower_views_keep_the_task_and_the_last_output():
    outputs = ["x" * 5000 + f"end{n}" for n in range(40)]
    history = history_of(outputs)
    sizes = []
    for budget in (40_000, 8000, 4000, 1500, 500):
        messages = history.messages(budget)
        sizes.append(estimate_tokens(messages))
        assert sizes[-1] <= budget
        assert "the task" in messages[1]["content"]
        assert messages[-1]["content"].endswith("end39")
    assert sizes == sorted(sizes, reverse=True)
    notes = [m["content"] for m in history.messages(500) if m["role"] == "user"][1:]
    assert notes == ["[39 steps are left out here]"]


def test_long_files_that_the_model_wrote_are_left_out_before_the_end_comes():
    history = history_of(["done"] * 8)
    for turn in history.turns:
        turn.arguments = json.dumps({"path": "a.py", "text": "x = 1\n" * 5000})
        turn.text = "I think. " * 500
    messages = history.messages(3000)
    calls = [m["tool_calls"][0]["function"] for m in messages if "tool_calls" in m]
    assert calls
    assert all("left_out" in json.loads(call["arguments"]) for call in calls)
    wide = history.messages()
    assert json.loads(wide[-2]["tool_calls"][0]["function"]["arguments"])["path"] == "a.py"


def test_what_does_not_fit_is_none():
    assert history_of(["x"]).messages(10) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(max_size=3000), max_size=20),
    st.integers(20, 6000),
    st.integers(0, 4),
    st.integers(1, 6),
)
def test_any_view_fits_and_every_result_follows_its_call(outputs, budget, first, last):
    messages = history_of(outputs, keep_first=first, keep_last=last).messages(budget)
    if messages is None:
        return
    assert estimate_tokens(messages) <= budget
    assert [m["role"] for m in messages[:2]] == ["system", "user"]
    for before, message in pairwise(messages):
        if message["role"] == "tool":
            assert before["tool_calls"][0]["id"] == message["tool_call_id"]
        if before["role"] == "assistant":
            assert message["role"] == "tool"


@given(st.text(max_size=300), st.integers(0, 200))
def test_shortened_texts_keep_both_ends(text, size):
    short = shorten(text, size)
    if len(text) <= size:
        assert short == text
    else:
        assert f"{len(text) - size} characters left out" in short
        assert short.startswith(text[: size // 3])
        assert len(short) <= size + 50


@pytest.mark.parametrize("text", ["plain words here", "日本語のテキスト", "{'a': [1, 2]}" * 9])
def test_estimates_are_not_below_a_token_for_four_bytes(text):
    assert estimate_tokens([{"content": text}]) >= len(text.encode()) / 4


def test_state_is_plain_and_complete():
    history = history_of(["one", "two"])
    other = History()
    other.set_state(history.get_state())
    assert other.messages() == history.messages()
    other.turns[0].output = "changed"
    assert history.turns[0].output == "one"
