"""Ludus has one name for pip, and every text that tells a user what to install uses it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ludus.distribution import DISTRIBUTION, pip_install, requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
PLACES = ["src", "docs", "tests", "benchmarks", "examples", ".github"]
TEXTS = {".md", ".py", ".yaml", ".yml", ".toml", ".txt", ".cfg", ".sh", ".pth", ".html", ".j2", ""}
NOT_FOR_USERS = {"dev", "peers"}

NAME = r"(?P<name>ludus[\w-]*)"
END = r"(?=[\s\"'`\[\]<>=!~;,)\\{}@&|]|\.(?:\s|$)|$)"
BEFORE = r"(?<![\w/.:-])"
SPELLINGS = {
    "with extras": rf"{BEFORE}{NAME}\\?\[(?:[a-z]|\{{[a-z])",
    "a command of pip": (
        r"\b(?:pip3?|pipx|uv pip|uv) +(?:install|uninstall|download|wheel|show|index|add)\b"
        rf"[^\n`#;&|]*?[ '\"]{NAME}{END}"
    ),
    "a version": rf"['\"`]{NAME} ?(?:[=!~<>]=|[<>]) ?(?:\d|\{{)",
    "a package URL": rf"pkg:pypi/{NAME}{END}",
    "a page of the index": rf"pypi\.org/(?:project|simple)/{NAME}(?:/|{END})",
    "its metadata": (
        r"\b(?:version|distribution|metadata|requires|files|installed_metadata)"
        rf"\(['\"]{NAME}['\"]\)"
    ),
    "an audit of it": rf"\b(?:ludus['\", ]+|BIN\)/ludus )audit['\", ]+{NAME}{END}",
}


def wrong_names(text: str) -> list[str]:
    """Return where a text names the distribution in another way."""
    found = []
    for what, pattern in SPELLINGS.items():
        for match in re.finditer(pattern, text):
            if match["name"] != DISTRIBUTION:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"line {line}, {what}: {match[0]!r}")
    return found


def files() -> list[Path]:
    named = [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".")]
    below = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.is_file()]
    return [
        path
        for path in (*named, *below)
        if path.suffix in TEXTS and "__pycache__" not in path.parts and path != Path(__file__)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "pip install ludus",
        "pip install 'ludus[all]'",
        "python -m pip install --upgrade ludus.",
        "run `pip install ludus_gym`",
        "uv pip install ludusgym",
        "pip install -e . ludus",
        "needs ludus[atari,images].",
        r"match=r'ludus\[board\]'",
        "f'ludus[{extra}]'",
        '"ludus==0.1"',
        'f"ludus=={version}"',
        "pkg:pypi/ludus@1",
        "https://pypi.org/project/ludus/",
        "importlib.metadata.version('ludus')",
        "ludus audit ludus --config",
        '["ludus", "audit", "ludus"]',
    ],
)
def test_other_spellings_are_found(text):
    assert wrong_names(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install ludus-gym",
        "pip install 'ludus-gym[all]'.",
        "import ludus",
        "ludus bench run classic",
        "rates['ludus'][0]",
        "ludus/CartPole-v1",
        "ludus audit some-package",
        "pip install my-package, then ludus.make",
    ],
)
def test_what_is_no_name_of_the_distribution_is_let_alone(text):
    assert not wrong_names(text)


def test_the_whole_repository_has_one_spelling():
    texts = {path: path.read_text("utf-8", errors="replace") for path in files()}
    assert len(texts) > 500
    wrong = {str(path.relative_to(ROOT)): wrong_names(text) for path, text in texts.items()}
    assert {path: found for path, found in wrong.items() if found} == {}


def test_the_project_is_built_under_that_name():
    assert PROJECT["name"] == DISTRIBUTION
    assert requirement() == DISTRIBUTION
    assert requirement("a", "b") == f"{DISTRIBUTION}[a,b]"
    assert pip_install() == f"pip install {DISTRIBUTION}"
    assert pip_install("a", upgrade=True) == f"pip install --upgrade '{DISTRIBUTION}[a]'"


def test_extras_that_are_named_exist():
    named: dict[str, str] = {}
    for path in files():
        text = path.read_text("utf-8", errors="replace")
        for match in re.finditer(rf"{DISTRIBUTION}\\?\[([a-z0-9, -]+)\\?\]", text):
            named |= {extra.strip(): str(path) for extra in match[1].split(",")}
        if path.suffix == ".py" and "tests" not in path.parts:
            for match in re.finditer(r"(?:pip_install|requirement)\(((?:'[a-z0-9-]+',? ?)+)", text):
                named |= {extra: str(path) for extra in re.findall(r"'([^']+)'", match[1])}
            for extra in re.findall(r'(?:require|installed)\([^)]*extra="([a-z0-9-]+)"', text):
                named[extra] = str(path)
    assert len(named) > 12
    assert {extra: path for extra, path in named.items() if extra not in EXTRAS} == {}


def test_the_install_page_lists_every_extra():
    page = (ROOT / "docs" / "install.md").read_text()
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(EXTRAS - NOT_FOR_USERS)
    assert pip_install() in page
    assert pip_install() in (ROOT / "README.md").read_text()
