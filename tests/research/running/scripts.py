"""What a scripted model does in some of the bundled tasks: look, try, check, hand in."""

from __future__ import annotations

from ludus.research.model_server.policies import Call, Say

TITANIC = """\
import os
import pandas as pd
from sklearn.linear_model import LogisticRegression

def numbers(table):
    title = table["Name"].str.extract(r", ([A-Za-z ]+)\\.")[0]
    made = {
        "male": table["Sex"] == "male",
        "class": table["Pclass"],
        "class of men": (table["Sex"] == "male") * table["Pclass"],
        "boy": title == "Master",
        "age": table["Age"].fillna(28) / 30,
        "many": table["SibSp"] + table["Parch"] > 3,
        "fare": (table["Fare"].fillna(8) + 1).rank(pct=True),
        "cabin": table["Cabin"].notna(),
    }
    return pd.DataFrame(made).astype(float)

train = pd.read_csv("train.csv")
model = LogisticRegression(max_iter=1000).fit(numbers(train), train["Survived"])
os.makedirs("predictions", exist_ok=True)
for split in ("validation", "test"):
    table = pd.read_csv(f"{split}.csv")
    table["Survived"] = model.predict(numbers(table)).astype(int)
    table[["PassengerId", "Survived"]].to_csv(f"predictions/{split}.csv", index=False)
"""


def game(body: str) -> list:
    """Return the script of a game: the rules are read, a strategy is tried and handed in."""
    text = f"def strategy(mine, theirs):\n    return {body}\n"
    write = f"cat > strategy.py <<'END'\n{text}END\npython try_it.py"
    return [
        Call("shell", {"command": "cat README.md strategy.py"}, "First the rules."),
        Call("shell", {"command": write}, f"I try {body}."),
        Call("submit", {}, "That will do."),
    ]


SCRIPTS = {
    "Two players choose 0 or 1": game("0"),
    "Two colonels": game("[30, 30, 30, 30, 0, 0]"),
    "Two players choose to cooperate": game("1"),
    "the sinking of the Titanic": [
        Call("shell", {"command": "ls; head -n 3 train.csv"}, "What is there?"),
        Say("I forgot to call a tool."),
        Call("create", {"path": "solve.py", "text": TITANIC}, "Sex, class, and boys."),
        Call("shell", {"command": "python solve.py"}),
        Call("validate"),
        Call("submit"),
    ],
}
"""By a text of the task, for ``by_step``."""
TASKS = ("battleOfSexes", "blotto", "prisonersDilemma", "titanicSurvival")
