"""A small repository in MLGym's layout, with every field and every kind of submission."""

from __future__ import annotations

import json
from pathlib import Path

TABLE = """\
id: guessTable
name: Guess the table
description: |
  Predict y of /home/agent/workspace/data/test.csv. {dataset_docs}
  Hand in submission.csv with Id,y.
dataset_configs: [datasets/small.yaml]
task_entrypoint: CSVSubmissionTasks
training_timeout: 60
use_generic_conda: false
requirements_path: data/table/requirements.txt
starter_code: [data/table/baseline.py, data/table/evaluate.py]
baseline_paths: [baseline.py]
baseline_scores:
  - rmse: 30.0
    r2: 0.0
evaluation_paths: [evaluate.py]
evaluation_read_only: true
sample_submission: data/table/sample_submission.csv
memory_path: data/table/memory.json
benchmark_name: lab
unheard_of: 3
"""
TABLE_EVALUATE = """\
import argparse
import csv
import json

parser = argparse.ArgumentParser()
parser.add_argument("--submission_file")
with open(parser.parse_args().submission_file) as file:
    guesses = [(row["Id"], float(row["y"])) for row in csv.DictReader(file)]
with open("/home/agent/workspace/data/answers.csv") as file:
    truth = {row["Id"]: float(row["y"]) for row in csv.DictReader(file)}
assert len(guesses) == len(truth)
squares = [(truth[name] - y) ** 2 for name, y in guesses if name in truth]
print("done:", len(squares))
print(json.dumps({"rmse": (sum(squares) / len(squares)) ** 0.5, "r2": 0.5}))
"""
TABLE_BASELINE = """\
import csv
rows = list(csv.DictReader(open("data/train.csv")))
mean = sum(float(row["y"]) for row in rows) / len(rows)
with open("submission.csv", "w") as file:
    print("Id,y", file=file)
    for row in csv.DictReader(open("data/test.csv")):
        print(row["Id"], mean, sep=",", file=file)
"""
GAME = """\
id: pennies
name: Matching pennies
description: Match the rival. Change strategy.py; play(history) returns 0 or 1.
task_entrypoint: PythonSubmissionTasks
training_timeout: 60
starter_code: [data/game/rival.py, data/game/evaluate.py, data/game/strategy.py]
baseline_paths: [evaluate.py]
baseline_scores: [{Score: 0.25}]
evaluation_paths: [evaluate.py]
secret_files: [data/game/rival.py]
"""
GAME_EVALUATE = """\
import json
from rival import reply
from strategy import play

history = []
for _ in range(40):
    mine = play(history)
    if mine not in (0, 1):
        raise ValueError("0 or 1")
    history.append((mine, reply(history)))
print(json.dumps({"Score": sum(a == b for a, b in history) / 40}))
"""
MODEL = """\
id: constantModel
name: A constant
description: Train a constant.
task_entrypoint: ModelSubmissionTasks
requirements_path: data/model/requirements.txt
use_generic_conda: false
starter_code: [data/model/src, data/model/evaluate.py]
baseline_paths: [src/train.py]
baseline_scores: [{Reward Mean: 0.5, Reward Std: 0.0}]
evaluation_paths: [evaluate.py]
"""
MODEL_EVALUATE = """\
import argparse, json
from pathlib import Path
from src.networks import Network

parser = argparse.ArgumentParser()
parser.add_argument("--config_fname")
config = Path(parser.parse_args().config_fname)
assert config.name == "config.yaml"
values = [Network(path).value for path in Path("checkpoints").glob("*.txt")]
print(json.dumps({"Reward Mean": sum(values) / len(values), "Reward Std": 0.0}))
"""
LANGUAGE = """\
id: smallLanguage
name: A language model
description: "Model {dataset_docs}"
dataset_configs: [datasets/hub.yaml]
task_entrypoint: LMSubmissionTasks
starter_code: [data/language/baseline.py, data/language/evaluate.py]
baseline_paths: [baseline.py]
baseline_scores: [{val_loss: 4.0}]
evaluation_paths: [evaluate.py]
"""
LANGUAGE_EVALUATE = """\
import json, os
from baseline import Model

assert os.environ["WORLD_SIZE"] == "1"
text = open("data/heldout.txt").read()
print(json.dumps({"val_loss": Model().loss(text)}))
"""
AGENT = """\
system_template: "Commands: {command_docs} Window {WINDOW}. At most {training_timeout} s."
task_template: "TASK {description} ({current_step}/{remaining_steps}) {{literal}} {gpu_name}"
next_step_template: "SAW {observation} in {working_dir}"
next_step_no_output_template: "SILENCE"
strategy_template: "Think first."
format_error_template: "One block, please."
demonstration_template: "SHOWN {demonstration}"
demonstrations: [demonstrations/demo.traj]
output_parser: MLGymThoughtActionParser
history_processor: Last5Observations
tools:
  env_variables: {WINDOW: 1000, OVERLAP: 2}
  state_command: {name: state, code: "state() { echo; };"}
  command_files: [tools/defaults.sh, tools/edit_linting.sh, tools/submit.sh, tools/paper.py]
  parser: ParseCommandDetailed
  blocklist: [vim]
"""


def write_lab(root: Path) -> Path:
    """Write the repository and return its folder."""
    rows = [(i, (i * i * 37 + i * 11) % 101) for i in range(40)]
    lines = {"train": rows[:30], "answers": rows[30:]}
    tables = {
        name: "Id,y\n" + "".join(f"{i},{y}\n" for i, y in part) for name, part in lines.items()
    }
    history = [
        {"role": "system", "content": "no"},
        {"role": "user", "content": "How {odd}?"},
        {"role": "assistant", "content": "So."},
    ]
    files = {
        "configs/tasks/table.yaml": TABLE,
        "configs/tasks/game.yaml": GAME,
        "configs/tasks/model.yaml": MODEL,
        "configs/tasks/language.yaml": LANGUAGE,
        "configs/agents/plain.yaml": AGENT,
        "configs/datasets/small.yaml": (
            "name: Small\ndescription: Thirty rows.\ndata_path: data/table/data\nis_local: true\n"
            "train_split: {name: train, file_regex: './data/train*'}\nvalid_size: 3\n"
        ),
        "configs/datasets/hub.yaml": (
            "name: Far\ndescription: Far away.\ndata_path: some/where\nis_local: false\n"
        ),
        "demonstrations/demo.traj": json.dumps({"history": history}),
        "data/table/baseline.py": TABLE_BASELINE,
        "data/table/evaluate.py": TABLE_EVALUATE,
        "data/table/requirements.txt": "numpy\n",
        "data/table/sample_submission.csv": "Id,y\n" + "".join(f"{i},0\n" for i in range(30, 40)),
        "data/table/data/train.csv": tables["train"],
        "data/table/data/test.csv": "Id\n" + "".join(f"{i}\n" for i in range(30, 40)),
        "data/table/data/answers.csv": tables["answers"],
        "data/game/evaluate.py": GAME_EVALUATE,
        "data/game/rival.py": "def reply(history):\n    return len(history) % 4 == 1\n",
        "data/game/strategy.py": "def play(history):\n    return 1\n",
        "data/model/requirements.txt": "",
        "data/model/evaluate.py": MODEL_EVALUATE,
        "data/model/src/__init__.py": "",
        "data/model/src/networks.py": (
            "class Network:\n    def __init__(self, path):\n"
            "        self.value = float(path.read_text())\n"
        ),
        "data/model/src/train.py": (
            "from pathlib import Path\nPath('checkpoints').mkdir()\n"
            "Path('checkpoints/0.txt').write_text('0.5')\nPath('config.yaml').write_text('a: 1')\n"
        ),
        "data/language/baseline.py": (
            "class Model:\n    def loss(self, text):\n        return float(len(text))\n"
        ),
        "data/language/evaluate.py": LANGUAGE_EVALUATE,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
