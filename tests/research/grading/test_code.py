"""Submitted code as a grader uses it."""

from __future__ import annotations

import importlib.util

import pytest

from tests.research.grading.support import File, MadeTask, boxed

pytestmark = boxed


def graded(tmp_path, body, source, *, files=(), backend=None, packages=(), **others):
    grader = "import numpy as np\nfrom ludus.research.grading import Score\n"
    grader += "def grade(submission, labels, seed, split):\n    code = submission.code('play.py')\n"
    grader += "".join(f"    {line}\n" for line in body)
    task = MadeTask(tmp_path, grader, [File("play.py", "code"), *files], packages=packages)
    return task.graded(play__py=source, backend=backend, **others)


def test_values_survive_the_way_there_and_back(tmp_path):
    outcome = graded(
        tmp_path,
        [
            "value = {'a': [1, -2.5, None, True, 'é', b'x', (1,)], 'b': np.arange(3, dtype='i4')}",
            "back = code.call('same', value)",
            "assert back['a'] == value['a'], back",
            "assert back['b'].dtype == 'i4' and back['b'].tolist() == [0, 1, 2]",
            "assert code.call_many('add', [[1, 2], [3, 4]], returns=int) == [3, 7]",
            "assert code.call_many('add', []) == []",
            "assert code.call('agent.act', 4, returns=lambda n: n + 1) == 41",
            "assert code.seconds > 0",
            "return 1.0",
        ],
        """
        def same(x): return x
        def add(a, b): return a + b
        class Agent:
            def act(self, n): return 10 * n
        agent = Agent()
        """,
    )
    assert outcome.kind == "scored", outcome
    assert outcome.calls == 5


def test_files_of_the_submission_lie_beside_its_code(tmp_path):
    outcome = graded(
        tmp_path,
        ["return code.call('read', returns=float)"],
        """
        from helper import scale
        def read(): return scale * float(open("model/weights.txt").read())
        """,
        files=[File("helper.py", "code"), File("model/weights.txt", "text")],
        **{"helper__py": "scale = 2", "model/weights__txt": "21"},
    )
    assert outcome.kind == "scored", outcome
    assert outcome.score == 42


def test_many_calls_in_one_message(tmp_path):
    outcome = graded(
        tmp_path,
        [
            "answers = code.call_many('play', [[n, [0, 1]] for n in range(10_000)], returns=int)",
            "assert answers == list(range(10_000))",
            "return Score(1.0, {'seconds': code.seconds})",
        ],
        "def play(n, history): return n",
    )
    assert outcome.kind == "scored", outcome
    assert outcome.calls == 2


@pytest.mark.parametrize(
    ("returns", "answer"),
    [
        ("int", "1.0"),
        ("int", "True"),
        ("float", "'1'"),
        ("bool", "1"),
        ("str", "b'x'"),
        ("list", "(1,)"),
        ("lambda a: [0, 1][a]", "2"),
        ("lambda a: a['x']", "{}"),
    ],
)
def test_answers_of_another_type_are_the_agents_fault(tmp_path, returns, answer):
    body = [f"code.call('play', returns={returns})", "return 1.0"]
    outcome = graded(tmp_path, body, f"def play(): return {answer}")
    assert outcome.kind == "agent_fault", outcome
    assert "to call 1 of 1" in outcome.reason


def test_what_the_code_printed_is_told(tmp_path):
    outcome = graded(
        tmp_path, ["code.call('play')"], "def play():\n    print('a hint\\x1b[2J')\n    1 / 0"
    )
    assert outcome.kind == "agent_fault"
    assert "ZeroDivisionError" in outcome.reason
    assert "a hint" in outcome.reason
    assert "\x1b" not in outcome.reason


def test_environments_are_there_for_tasks_that_need_them(tmp_path):
    outcome = graded(
        tmp_path,
        [
            "import ludus",
            "env = ludus.make('CartPole-v1')",
            "env.reset(seed=seed)",
            "return env.step(code.call('play', returns=int))[1]",
        ],
        "def play(): return 1",
        packages=("ludus", "numpy"),
    )
    assert outcome.kind == "scored", outcome
    assert outcome.score == 1.0


@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is not None, reason="onnxruntime is installed"
)
def test_onnx_without_its_runtime_is_our_fault(tmp_path):
    outcome = graded(
        tmp_path,
        ["return submission.onnx('m.onnx').run({'x': np.zeros(1)})"],
        "",
        files=[File("m.onnx", "onnx")],
        m__onnx=b"x",
    )
    assert outcome.kind == "infrastructure_fault"
    assert "pip install onnxruntime" in outcome.reason


@pytest.mark.filterwarnings("ignore:.*isolat")
def test_without_boxes_for_code_that_is_trusted(tmp_path):
    outcome = graded(
        tmp_path,
        ["return code.call('play', returns=int)"],
        "def play(): return 3",
        backend="process",
    )
    assert outcome.kind == "scored", outcome
    assert outcome.score == 3
