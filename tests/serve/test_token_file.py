from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.errors import ServeError
from ludus.serve.token_file import read_token

TOKEN = "0123456789abcdef0123456789abcdef"


def test_the_token_is_the_line_of_a_file(tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    # Clusters mount secrets as links.
    (tmp_path / "link").symlink_to(tmp_path / "token")
    assert read_token(tmp_path / "token") == read_token(tmp_path / "link") == TOKEN


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "0 lines"),
        (b"\n\n", "0 lines"),
        (b"kept\nsecret\n", "2 lines"),
        (b"\xff\xfe", "not text"),
        (b"x" * 5000, "cannot be read"),
    ],
    ids=["empty", "blank", "several", "binary", "long"],
)
def test_what_is_no_token(tmp_path, content, said):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(ServeError, match=said) as caught:
        read_token(tmp_path / "token")
    assert "secret" not in str(caught.value)


def test_no_file_a_folder_and_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe"):
        with pytest.raises(ServeError, match=r"cannot be read.*uid"):
            read_token(path)


def test_the_command_takes_it(tmp_path):
    """A token that is too short shows that the file was read; the message does not show it."""
    file = tmp_path / "token"
    file.write_text("short-secret\n")
    words = ["serve", "CartPole-v1", "--host", "0.0.0.0", "--port", "0"]
    by_name = CliRunner().invoke(app, [*words, "--token-file", str(file)])
    by_variable = CliRunner(env={"LUDUS_SERVE_TOKEN_FILE": str(file)}).invoke(app, words)
    for done in (by_name, by_variable):
        assert done.exit_code == 2
        assert "The token has 12 characters" in done.output
        assert "short-secret" not in done.output


def test_two_tokens_are_refused(tmp_path):
    words = ["serve", "CartPole-v1", "--token", TOKEN, "--token-file", str(tmp_path / "token")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "both" in done.output
