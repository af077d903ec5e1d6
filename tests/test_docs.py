"""The code in README and docs runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ludus.registration import registry
from tests.sandbox.attacks import ATTACKS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTED = re.compile(r"^\s*(?:from|import) (ludus(?:\.\w+)+)", re.MULTILINE)
DRAWINGS = sorted((ROOT / "docs" / "pictures").glob("draw_*.py"))
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs(page, tmp_path):
    script = tmp_path / "page.py"
    script.write_text("\n".join(BLOCK.findall(page.read_text())))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", DRAWINGS, ids=lambda script: script.name)
def test_pictures_are_what_their_scripts_draw(script, tmp_path):
    (tmp_path / script.name).write_text(script.read_text())
    done = subprocess.run(
        [sys.executable, script.name], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    if "DependencyNotInstalled" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    name = script.name.removeprefix("draw_").replace(".py", ".png")
    drawn, kept = (
        np.asarray(Image.open(folder / name).convert("RGB"), np.int16)
        for folder in (tmp_path, script.parent)
    )
    assert drawn.shape == kept.shape
    # Another driver draws other edges and lights, but no other picture.
    assert (abs(drawn - kept) > 32).mean() < 0.05


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text()
    for room in (ROOT / "src" / "ludus").iterdir():
        if room.is_dir() and room.name != "__pycache__":
            assert f"\n  {room.name}/" in text, f"docs/architecture.md misses {room.name}/"


def test_architecture_has_the_layers_of_the_linter():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = re.findall(
        r"^\| (`.*?) \|", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE
    )
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == [
        set(re.findall(r"ludus\.(\w+)", layer)) for layer in layers
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_public_modules_only(page):
    section = (ROOT / "docs" / "architecture.md").read_text().partition("## Public modules")[2]
    public = set(re.findall(r"`(ludus\.[\w.]+)`", section.partition("\n## ")[0]))
    for module in IMPORTED.findall(page.read_text()):
        assert module.count(".") < 2 or module in public, (
            f"{page.name} imports {module}; export the name from its package, or list the module "
            "under 'Public modules' in docs/architecture.md."
        )


def test_every_id_is_named():
    texts = {page.stem: page.read_text() for page in (ROOT / "docs").glob("*.md")}
    # How the hundreds of ids of arcade games are made is told, not each of them.
    own = [spec for spec in registry.values() if _is_own(spec) and spec.family != "atari"]
    assert len(own) > 100
    for spec in own:
        page = spec.family if spec.family in ("board", "box2d", "mujoco") else "environments"
        assert f"`{spec.id.rpartition('-v')[0]}-v" in texts[page]


def test_every_page_is_linked_from_the_first():
    first = (ROOT / "docs" / "index.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\((\w+\.md)\)", first))


def _is_own(spec):
    return spec.security.trust == "builtin"


def test_the_red_team_page_names_tests_that_there_are():
    page = (ROOT / "docs" / "security.md").read_text("utf-8").partition("## Red team")[2]
    texts = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")}
    named = re.findall(r"`([\w/]*\.py)(?:::(\w+))?`", page)
    assert len(named) > 60
    for file, test in named:
        there = [text for path, text in texts.items() if str(path).endswith(f"/{file}")]
        found = any(re.search(rf"def {test}\b", text) for text in there)
        assert found if test else there, (file, test)
    attacks = {attack.name for attack in ATTACKS}
    for name in re.findall(r"`([a-z]+_\w+)`", page.partition("### Sandboxes")[2]):
        assert name in attacks or f"def {name}(" in "".join(texts.values()), name
