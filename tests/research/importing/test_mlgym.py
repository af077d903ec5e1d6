"""Imported tasks and agents of MLGym: mapping, grading, and attacks that must end at the floor."""

from __future__ import annotations

import io
import zipfile

import pytest

from ludus.bench.running.folder import BenchFolder
from ludus.errors import DataMissing, TaskError
from ludus.research.data.data_cache import CachedTask
from ludus.research.importing import ImportOptions, import_task
from ludus.research.importing.inside.mlgym import read_metrics
from ludus.research.importing.mlgym_code import called_functions, imported_files, named_in
from ludus.research.linting import check_task
from ludus.research.model_server.policies import Say, in_order
from ludus.research.model_server.server import ModelServer
from ludus.research.running import parse_agent, read_agent_config
from ludus.research.running.solving import solve
from ludus.research.running.verification import verify_research_run
from ludus.research.task.discovery import load_task
from tests.research.importing.mlgym_lab import AGENT, write_lab
from tests.research.importing.test_importing import UNLIMITED, counted, graded, sandboxed
from tests.research.running.support import start

BESIDE = ImportOptions(code_beside_tests=True)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def made(lab, tmp_path_factory):
    """The imported tasks by the names of their files."""
    out = tmp_path_factory.mktemp("made")
    how = {"table": None, "game": None, "model": BESIDE, "language": BESIDE}
    return {
        name: import_task(
            lab / f"configs/tasks/{name}.yaml", out / name, format="mlgym", options=options
        )
        for name, options in how.items()
    }


def test_every_field_is_reported(made):
    told = {name: {(row.field, row.status) for row in report.rows} for name, report in made.items()}
    assert told["table"] >= {
        ("id", "mapped"), ("name", "mapped"), ("description", "adapted"),
        ("dataset_configs", "mapped"), ("labels", "adapted"), ("task_entrypoint", "mapped"),
        ("training_timeout", "mapped"), ("requirements_path", "adapted"),
        ("starter_code", "mapped"), ("baseline_paths", "mapped"), ("baseline_scores", "mapped"),
        ("evaluation_paths", "mapped"), ("evaluation_read_only", "mapped"),
        ("sample_submission", "mapped"), ("memory_path", "left out"),
        ("benchmark_name", "left out"), ("unheard_of", "left out"), ("threshold", "adapted"),
        ("datasets/small.yaml: train_split", "adapted"),
        ("datasets/small.yaml: valid_size", "left out"),
    }  # fmt: skip
    assert ("secret_files", "mapped") in told["game"]
    assert ("use_generic_conda", "adapted") in told["game"]
    config = load_task(made["table"].path).config
    assert (config.evaluation.metric, config.evaluation.direction) == ("rmse", "lower")
    assert "SMALL:\nThirty rows." in config.description
    assert "/workspace/data/test.csv" in config.description
    for name, beside in {"table": False, "game": False, "model": True, "language": True}.items():
        task = load_task(made[name].path)
        assert task.config.code_beside_tests is beside
    for name in ("table", "game"):
        errors = [f for f in check_task(made[name].path).findings if f.severity == "error"]
        assert errors == [], name


def test_the_agent_sees_no_answers(made):
    prepared = CachedTask.of(load_task(made["table"].path)).prepared(0)
    assert sorted(path.name for path in (prepared.workspace / "data").iterdir()) == [
        "test.csv", "train.csv",
    ]  # fmt: skip
    assert [path.name for path in (prepared.test / "data").iterdir()] == ["answers.csv"]
    assert not (load_task(made["game"].path).workspace / "rival.py").exists()


@sandboxed
@pytest.mark.parametrize(
    ("name", "score"), [("table", 29.0), ("game", 0.25), ("model", 0.5)], ids=lambda x: str(x)
)
def test_baselines_are_graded(made, name, score):
    found = solve(made[name].path, "baseline", unlimited=UNLIMITED)
    assert found.outcome == "scored", found.reason
    assert found.score == pytest.approx(score, abs=6)
    assert found.details["code_beside_tests"] is (name == "model")


@sandboxed
def test_good_work_scores(made, tmp_path):
    task = CachedTask.of(load_task(made["table"].path))
    perfect = (task.labels_folder("test", 0) / "data" / "answers.csv").read_bytes()
    assert graded(made["table"].path, {"submission.csv": perfect}).score == 0.0
    assert graded(made["table"].path, task.known_good(0).files).score > 30
    good = b"def play(history):\n    return int(len(history) % 4 == 1)\n"
    assert graded(made["game"].path, {"strategy.py": good}).score == 1.0


@sandboxed
@pytest.mark.parametrize(
    ("name", "attack"),
    [
        ("table", "printf 'Id,y\\n' > submission.csv; for i in 1 2 3 4 5 6 7 8 9 10; do "
                  "echo 30,57 >> submission.csv; done"),
        ("table", "(echo Id,y; for i in 0 1 2 3 4 5 6 7 8 9; do echo 30.$i,57; done | sed "
                  "'s/30[.]./30.0/') > submission.csv"),
        ("table", "ln -s data/train.csv submission.csv"),
        ("table", "echo '{\"rmse\": 0.0}' > submission.csv"),
        ("table", "echo 'print(\\'{\"rmse\": 0.0}\\')' | tee evaluate.py sitecustomize.py csv.py; "
                  "cp submission.csv data/answers.csv; cp sample_submission.csv submission.csv"),
        ("game", "printf 'import os\\nprint(\\'{\"Score\": 9}\\', flush=True)\\nos._exit(0)\\n'"
                 " > strategy.py"),
        ("game", "printf 'import os\\ndef play(h):\\n    print(\\'{\"Score\": 9}\\', flush=True)"
                 "\\n    os._exit(0)\\n' > strategy.py"),
        ("game", "printf 'import atexit, sys\\natexit.register(print, \\'{\"Score\": 9}\\')\\n"
                 "sys.modules[\\'rival\\'] = sys\\ndef play(h):\\n    return 2\\n' > strategy.py"),
        ("game", "ln -sf /etc/passwd strategy.py"),
        ("game", "printf 'class One(int):\\n    __eq__ = lambda s, o: True\\n    __hash__ = None\\n"
                 "def play(h):\\n    return One(2)\\n' > strategy.py"),
        ("game", "printf 'def play(h):\\n    return float(\"inf\")\\n' > strategy.py"),
        ("game", "echo 'def reply(h): return 1' > rival.py; echo 'print({})' > evaluate.py"),
    ],
    ids=[
        "repeated", "written otherwise", "link", "json", "programs", "exit", "exit late", "atexit",
        "passwd", "equal to all", "infinite", "own files",
    ],
)  # fmt: skip
def test_attacks_end_at_the_floor(made, name, attack):
    outcome, number = counted(made[name].path, attack)
    assert outcome in ("scored", "agent_fault")
    assert number == load_task(made[name].path).scale.least


@sandboxed
def test_archives_are_unpacked_with_care(made):
    for path in ("../outside", "/tmp/work/evaluate.py"):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr(path, "x")
        found = graded(made["model"].path, {"submission.zip": data.getvalue()})
        assert found.kind == "agent_fault"
        assert "leads out" in found.reason


@sandboxed
def test_data_of_the_hub_is_asked_for_and_taken(made, tmp_path, monkeypatch):
    with pytest.raises(DataMissing, match=r"some/where.*LUDUS_DATA_SMALLLANGUAGE"):
        CachedTask.of(load_task(made["language"].path)).prepared(0)
    for name, text in {"agent/train.txt": "train", "grader/heldout.txt": "abc"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("LUDUS_DATA_SMALLLANGUAGE", str(tmp_path))
    found = solve(made["language"].path, "baseline", unlimited=UNLIMITED)
    assert (found.outcome, found.score) == ("scored", 3.0), found.reason
    assert found.details["code_beside_tests"] is True


@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        (("evaluate.py]", "nowhere.py]"), {}, "there is no"),
        (("id: pennies", "id: [1]"), {}, "id is"),
        (("strategy.py; play", "the file; play"), {}, "--submit"),
        (("baseline_scores: [{Score: 0.25}]", ""), {}, "--metric and --threshold"),
        (("Score: 0.25", "Score: x"), {}, "baseline_scores"),
        (("data/game/rival.py, ", "../rival.py, "), {}, "expected a path below"),
        (("timeout: 60", "timeout: soon"), {}, "training_timeout"),
        ((": pennies", ": pennies"), {"metric": "other"}, "give --threshold"),
        ((": pennies", ": pennies"), {"submit": ("other.py",)}, "--code-beside-tests"),
        ((": pennies", ": pennies"), {"submit": ("evaluate.py",)}, "the grader's"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_imported_is_told(lab, tmp_path, change, how, words):
    file = lab / "configs" / "tasks" / "changed.yaml"
    file.write_text((lab / "configs/tasks/game.yaml").read_text().replace(*change))
    with pytest.raises(TaskError, match=words):
        import_task(file, tmp_path / "made", format="mlgym", options=ImportOptions(**how))
    assert not (tmp_path / "made").exists()


def test_archives_need_consent(lab, tmp_path):
    for name in ("model", "language"):
        with pytest.raises(TaskError, match="--code-beside-tests"):
            import_task(lab / f"configs/tasks/{name}.yaml", tmp_path / name, format="mlgym")


def test_metrics_are_the_last_object_printed():
    printed = 'a\n{"Score": 1}\n{"score": 2, "b": NaN, "c": "x"}\n{no\n'
    assert read_metrics(printed, "Score") == (2.0, {"score": 2.0})
    assert read_metrics('{\n  "Score": 3\n}\n', "Score")[0] == 3.0
    for wrong in ("", "3", '{"Score": NaN}', '{"Score": true}', '{"other": 1}'):
        with pytest.raises(ValueError, match="The evaluation printed no"):
            read_metrics(wrong, "Score")


def test_what_programs_use_is_read_off_them():
    files = {
        "main.py": b"import a\nfrom b import f\na.g(1)\nopen('x/y*.csv'); print('no. 1: ok')",
        "a.py": b"import c.d\ndef g(x): return x",
        "b.py": b"def f(): yield 1",
        "c/d.py": b"",
        "e.py": b"",
    }
    assert imported_files("main.py", files) == {"a.py", "b.py", "c/d.py"}
    assert called_functions("a.py", files) == ("g",)
    assert called_functions("b.py", files) is None
    assert called_functions("a.py", {**files, "e.py": b"import a\nprint(a)"}) is None
    assert called_functions("a.py", {**files, "e.py": b"from a import *"}) is None
    assert named_in(files.values()) == ["y*.csv"]


def test_agent_files_become_options(lab, tmp_path):
    report = import_task(lab / "configs/agents/plain.yaml", tmp_path / "agent.yaml", format="mlgym")
    assert report.kind == "agent"
    told = {(row.field, row.status) for row in report.rows}
    assert told >= {
        ("system_template", "mapped"), ("task_template", "adapted"),
        ("next_step_template", "mapped"), ("next_step_no_output_template", "mapped"),
        ("strategy_template", "mapped"), ("format_error_template", "mapped"),
        ("demonstrations", "mapped"), ("output_parser", "mapped"),
        ("history_processor", "mapped"), ("env_variables.WINDOW", "adapted"),
        ("command_files", "left out"), ("command_files", "adapted"), ("command_docs", "adapted"),
        ("state_command", "adapted"), ("tools.parser", "adapted"), ("blocklist", "left out"),
    }  # fmt: skip
    found = read_agent_config(report.path)
    assert (found["style"], found["keep_first"], found["keep_last"]) == ("text", 0, 5)
    assert found["demonstrations"] == [{"role": "user", "content": "SHOWN How {odd}?\nSo."}]
    assert "{{literal}} n/a" in found["templates"]["task"]
    with pytest.raises(TaskError, match="there already"):
        import_task(lab / "configs/agents/plain.yaml", report.path, format="mlgym")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("system_template: ", "system_template: 3 #"), "system_template is"),
        (("SAW {", "SAW { {"), "no template"),
        (("demonstration_template", "strategy_template2"), "need demonstration_template"),
        (("demo.traj", "nowhere.traj"), "cannot be read"),
        (("Last5Observations", "LastNObservations"), "history_processor_args"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_agent_files_that_cannot_be_imported(lab, tmp_path, change, words):
    file = lab / "configs" / "agents" / "changed.yaml"
    file.write_text(AGENT.replace(*change))
    with pytest.raises(TaskError, match=words):
        import_task(file, tmp_path / "agent.yaml", format="mlgym")


@sandboxed
def test_an_imported_agent_works_on_an_imported_task(lab, made, tmp_path):
    pytest.importorskip("openai")
    report = import_task(lab / "configs/agents/plain.yaml", tmp_path / "agent.yaml", format="mlgym")
    better = "def play(history):\n    return int(len(history) % 4 == 1)"
    script = [
        Say("DISCUSSION\nI look.\n```\nls\n```"),
        Say("no block"),
        Say(f"DISCUSSION\nBetter.\n```\ncat > strategy.py <<'EOF'\n{better}\nEOF\n```"),
        Say("DISCUSSION\nDone.\n```\nsubmit\n```"),
    ]
    with ModelServer(in_order(script)) as server:
        chosen = {**read_agent_config(report.path), "model": server.model}
        agent = parse_agent("react", chosen)
        done = start(made["game"].path, agent, tmp_path / "run", base_url=server.base_url)
        asked = [request.messages for request in server.requests]
    assert [(one.outcome, one.score) for one in done.results] == [("scored", 1.0)]
    first, last = asked[0], asked[-1]
    assert first[0]["content"].endswith("Window 100. At most 60 s.")
    assert first[1]["content"] == "SHOWN How {odd}?\nSo."
    assert first[2]["content"].startswith("TASK Match the rival.")
    assert first[2]["content"].endswith("(0/50) {literal} n/a\nThink first.")
    said = [message["content"] for message in last if message["role"] == "user"]
    assert "SAW evaluate.py\nstrategy.py\n in /workspace" in said
    assert said[-2:] == ["One block, please.", "SILENCE"]


@sandboxed
def test_results_of_code_beside_its_tests_are_never_verified(made, tmp_path):
    actions = tmp_path / "actions.yaml"
    actions.write_text(
        "- echo 'print({})' > evaluate.py\n"
        "- sed -i 's/read_text())/read_text()) + 0.25/' src/networks.py; python src/train.py\n"
        "- python -m zipfile -c submission.zip *\n- submit\n"
    )
    agent = parse_agent("scripted", {"file": str(actions)})
    done = start(made["model"].path, agent, tmp_path / "run")
    assert [(one.outcome, one.score) for one in done.results] == [("scored", 0.75)]
    run = BenchFolder.open(tmp_path / "run")
    (found,) = verify_research_run(run, tasks=[made["model"].path], unlimited=UNLIMITED)
    assert found.result.verified == "claimed"
    assert "beside its tests" in str(found)
