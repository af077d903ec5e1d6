"""The Compose file fits the schema of the Compose specification, the image and the command line."""

from __future__ import annotations

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner
from typer.main import get_command

from ludus.cli.app import app
from ludus.serve.settings import ServeSettings
from ludus.version import __version__
from tests.containers.recipe import ROOT, read_stages

FILE = ROOT / "compose.yaml"
COMPOSE = yaml.safe_load(FILE.read_text())
SERVE = COMPOSE["services"]["serve"]
HARDENED = {
    "user": "10001:10001",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
}
LIMITS = ("cpus", "mem_limit", "memswap_limit", "pids_limit", "ulimits", "logging")
OPENING = (
    "privileged", "cap_add", "devices", "pid", "ipc", "uts", "cgroup", "userns_mode",
    "network_mode", "volumes", "volumes_from", "env_file", "group_add",
)  # fmt: skip


def check(file):
    words = ["--builtin-schema", "vendor.compose-spec", str(file)]
    return CliRunner().invoke(check_jsonschema.main, words)


def test_the_schema_is_fulfilled():
    done = check(FILE)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("field", [{"readonly": True}, {"cap_drop": "ALL"}, {"pids_limit": []}])
def test_the_validator_finds_what_is_wrong(field, tmp_path):
    wrong = {**COMPOSE, "services": {"serve": {**SERVE, **field}}}
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(wrong))
    done = check(tmp_path / "compose.yaml")
    assert done.exit_code == 1
    assert "services.serve" in done.output


def test_the_container_has_no_rights_and_limits():
    assert {name: SERVE.get(name) for name in HARDENED} == HARDENED
    assert not {*OPENING} & {*SERVE}
    assert {*LIMITS} <= {*SERVE}
    # Swapping would get around the limit of memory.
    assert SERVE["memswap_limit"] == SERVE["mem_limit"]
    [scratch] = SERVE["tmpfs"]
    place, _, options = scratch.partition(":")
    assert place == "/tmp"
    assert {"noexec", "nosuid", "nodev"} <= {*options.split(",")}
    assert "size=" in options


def test_the_port_is_open_to_this_machine_only():
    [port] = SERVE["ports"]
    address, _, inside = port.rsplit(":", 2)
    assert address == "127.0.0.1"
    assert [inside] == read_stages()["serve"].all("EXPOSE")


def test_the_token_is_a_file():
    assert SERVE["environment"] == {"LUDUS_SERVE_TOKEN_FILE": "/run/secrets/token"}
    assert SERVE["secrets"] == [*COMPOSE["secrets"]] == ["token"]
    assert {*COMPOSE["secrets"]["token"]} == {"file"}
    # Where the file is, nothing is committed and nothing is sent to the builder.
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_command_line_takes_the_arguments():
    stage = SERVE["build"]["target"]
    _, group, *words = read_stages()[stage].words("ENTRYPOINT")
    command = get_command(app).commands[group]
    assert command.make_context(group, [*words, *SERVE["command"]]).params["names"]
    assert SERVE["image"] == f"ludus-serve:{__version__}"


def test_the_container_has_the_time_to_end():
    assert int(SERVE["stop_grace_period"].removesuffix("s")) > 2 * ServeSettings().grace_seconds
