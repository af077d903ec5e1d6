"""``ludus audit``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from tests.audit.support import make_folder, make_wheel

run = CliRunner(env={"COLUMNS": "200"}).invoke
EVIL = "import os\nos.system('x')\n"


def audit(*arguments):
    return run(app, ["audit", "--offline", *map(str, arguments)])


@pytest.fixture
def clean(tmp_path):
    return make_wheel(tmp_path, {"a.py": "x = 1\n"})


@pytest.fixture
def evil(tmp_path):
    return make_wheel(tmp_path, {"a/b.py": EVIL})


def test_a_clean_package(clean):
    result = audit(clean)
    assert result.exit_code == 0
    for words in ("suspect 1.0, wheel", "MIT", "No finding", "vulnerabilities: not checked"):
        assert words in result.output


def test_findings_say_where_what_and_what_to_do(evil):
    result = audit(evil)
    assert result.exit_code == 1
    for words in (
        "a/b.py:2",
        "subprocess",
        "os.system",
        "Starts other programs.",
        "Run it in a sandbox",
    ):
        assert words in result.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--ignore", "subprocess"], 1),
        (["--ignore", "subprocess", "--ignore", "import-time-effect"], 0),
        (["--exclude", "a/*"], 0),
        (["--exclude", "a/*", "--require", "vulnerabilities"], 3),
        (["--require", "vulnerabilities"], 1),
        (["--exclude", "a/*", "--deny-licence", "MIT"], 1),
        (["--exclude", "a/*", "--allow-licence", "MIT"], 0),
        (["--ignore", "nonsense"], 2),
        (["--require", "nonsense"], 2),
        (["--config", "missing.toml"], 2),
        (["--advisories", "missing"], 2),
        (["--fail-on", "never"], 2),
        (["--format", "xml"], 2),
        (["--output", "/no/such/folder/report"], 2),
        (["--sbom", "/no/such/folder/sbom"], 2),
    ],
)
def test_exit_codes(arguments, code, evil):
    assert audit(evil, *arguments).exit_code == code


@pytest.mark.parametrize(("least", "code"), [("low", 1), ("medium", 0), ("high", 0)])
def test_what_counts(least, code, tmp_path):
    path = make_wheel(tmp_path, {"a.py": "def f(x): open(x, 'w')\n"})
    assert audit(path, "--fail-on", least).exit_code == code
    assert ("file-write" in audit(path, "--show", "medium").output) is False


def test_the_command_line_goes_before_the_configuration(evil, tmp_path):
    config = tmp_path / "mine.toml"
    config.write_text(
        '[tool.ludus.audit]\nfail-on = "low"\naccept = [\n'
        '{ rule = "subprocess", reason = "a" },\n{ rule = "import-time-effect", reason = "b" }]\n'
    )
    result = audit(evil, "--config", config)
    assert (result.exit_code, "2 findings are accepted" in result.output) == (0, True)
    config.write_text('[tool.ludus.audit]\nfail-on = "low"\n')
    path = make_wheel(tmp_path, {"a.py": "def f(x): open(x, 'w')\n"})
    assert audit(path, "--config", config).exit_code == 1
    assert audit(path, "--config", config, "--fail-on", "high").exit_code == 0


def test_json(evil, tmp_path):
    data = json.loads(audit(evil, "--format", "json").output)
    assert data["package"] == "suspect"
    assert data["exit_code"] == 1
    assert data["checks"]["vulnerabilities"]["state"] == "not checked"
    finding = next(item for item in data["findings"] if item["rule"] == "subprocess")
    assert (finding["path"], finding["line"], finding["severity"]) == ("a/b.py", 2, "high")
    assert finding["meaning"]
    assert finding["advice"]


@pytest.mark.parametrize("form", ["table", "json", "sarif"])
def test_files(form, evil, tmp_path):
    report, bill = tmp_path / "report", tmp_path / "bill"
    result = audit(evil, "--format", form, "--output", report, "--sbom", bill)
    assert (result.exit_code, result.output) == (1, "")
    assert "a/b.py" in report.read_text()
    assert json.loads(bill.read_text())["bomFormat"] == "CycloneDX"


def test_an_unknown_package():
    result = audit("no-such-distribution-anywhere")
    assert result.exit_code == 2
    assert "pip list" in result.stderr


@pytest.mark.parametrize("form", ["table", "json", "sarif"])
def test_nothing_audited_steers_the_terminal(form, tmp_path):
    nasty = "\x1b]0;title\x07\x1b[2J\u202e[red]markup[/red]"
    source = f"import os\ndef f(): open('/{nasty}', 'w'); os.getenv('TOKEN{nasty}')\n"
    path = make_wheel(
        tmp_path,
        {f"pkg/{nasty}.py": source, "pkg/b.py": source, "c.pth": f"import os {nasty}\n"},
        License_Expression=nasty,
        Requires_Dist=[nasty, f"a @ https://x/{nasty}"],
    )
    done = subprocess.run(
        [sys.executable, "-m", "ludus", "audit", "--offline", "--format", form, str(path)],
        capture_output=True,
        env={"COLUMNS": "300", "PATH": "/usr/bin:/bin", "FORCE_COLOR": "0", "TERM": "dumb"},
    )
    assert done.returncode == 1
    text = (done.stdout + done.stderr).decode()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[red]" in text


def test_a_folder_and_help(tmp_path):
    assert audit(make_folder(tmp_path, {"a.py": EVIL})).exit_code == 1
    text = run(app, ["audit", "--help"]).output
    for words in ("--advisories", "--fail-on", "Exit code 0", "pip download", "nosec"):
        assert words in text
