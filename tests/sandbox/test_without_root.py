"""A caller without root: what still holds, and what is refused instead of ignored."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ludus
from tests.sandbox.attacks.host import survivors
from tests.sandbox.support import needs

PYTHON = "/usr/bin/python3"
USER = 54321
PACKAGE = Path(ludus.__file__).resolve().parent

pytestmark = [
    needs("bubblewrap", root=True),
    pytest.mark.skipif(
        not all(folder.stat().st_mode & 0o001 for folder in (PACKAGE, *PACKAGE.parents)),
        reason=f"user {USER} cannot read the package",
    ),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}, which any user can run"),
]

# The package itself needs numpy, which that interpreter may lack; the sandbox does not.
PRELUDE = """
import sys, types
package = types.ModuleType("ludus")
package.__path__ = [sys.argv[1]]
sys.modules["ludus"] = package
from ludus.errors import PolicyNotEnforceable
from ludus.sandbox import Policy, doctor, open_sandbox
policy = Policy(memory=None, cpus=None, pids=24, disk="2M")
"""

SCRIPTS = {
    "files_are_limited": """
count = "i=0; while [ $i -lt 9000 ] && : > $i 2>/dev/null; do i=$((i+1)); done; echo $i"
with open_sandbox(policy, backend="bubblewrap") as box:
    for place in ("/workspace", "/tmp", "/dev/shm"):
        done = box.run(["bash", "-c", f"cd {place}; {count}"])
        limit = 4096 if place == "/workspace" else 16384
        assert int(done.text) <= limit, (place, done)
    assert int(box.run(["bash", "-c", "ls | wc -l"]).text) < 4096
""",
    "only_what_is_allowed_is_seen": """
with open_sandbox(policy, backend="bubblewrap") as box:
    seen = box.run(["ls", "/usr"]).text.split()
    assert "bin" in seen and "src" not in seen, seen
    mounts = box.run(["cat", "/proc/self/mountinfo"]).text
    assert " /usr " in mounts and "overlay" in mounts, mounts
""",
    "default_policy_is_refused": """
try:
    open_sandbox(backend="bubblewrap")
except PolicyNotEnforceable as error:
    assert set(error.reasons) == {"memory", "cpus"}, error
else:
    raise SystemExit("a policy that does not hold was accepted")
""",
    "doctor_says_so": """
(found,) = [row for row in doctor() if row.backend == "bubblewrap"]
assert found.works and not found.enforcement.holds("memory")
assert found.enforcement.holds("pids") and found.enforcement.holds("disk")
""",
    "limits_hold": """
with open_sandbox(policy, backend="bubblewrap") as box:
    done = box.run(["sh", "-c", "head -c 5000000 /dev/zero > f; wc -c < f; rm f"])
    assert int(done.stdout) <= 2 << 20, done
    done = box.run(["bash", "-c", "for i in $(seq 60); do sleep 20 & done; wait"], timeout=2)
    assert b"fork" in done.stderr, done
    for place in ("/", "/usr", "/etc", "/dev"):
        assert box.run(["touch", place + "/x"]).returncode, place
    assert "Seccomp:\\t2" in box.run(["cat", "/proc/self/status"]).text
""",
    "shell_and_files_work": """
with open_sandbox(policy, backend="bubblewrap") as box, box.shell() as shell:
    shell.run("cd /tmp; x=kept; (setsid sleep 50 &)")
    assert shell.run("sleep 50; echo no", timeout=0.3).timed_out
    assert shell.run("echo $x $PWD").stdout == b"kept /tmp\\n"
    assert shell.run("pgrep -c sleep").stdout == b"0\\n"
    box.write_bytes("a/b", b"data")
    assert box.run(["cat", "a/b"]).stdout == b"data"
    kept = box.snapshot()
    box.run(["rm", "-r", "a"]).check()
    box.restore(kept)
    assert box.read_bytes("a/b") == b"data"
""",
}


AS_USER: dict[str, Any] = {
    "user": USER,
    "group": USER,
    "extra_groups": [],
    "env": {"PATH": "/usr/bin:/bin:/usr/sbin"},
    "cwd": "/",
}


def program(script: str) -> list[str]:
    return [PYTHON, "-B", "-c", PRELUDE + script, str(PACKAGE)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_without_root(name):
    done = subprocess.run(
        program(SCRIPTS[name]), **AS_USER, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    left = Path(f"/tmp/ludus-{USER}/boxes")
    assert not left.exists() or not list(left.iterdir())


def test_an_owner_that_is_killed_at_once():
    """Nobody has tied the job to its owner yet: the kernel ends it all the same."""
    number = f"250.{os.getpid()}"
    # Its leases stay behind; not among those of other tests that run as this user.
    state = Path(f"/tmp/ludus-killed-{os.getpid()}")
    as_user = {**AS_USER, "env": {**AS_USER["env"], "LUDUS_STATE": str(state)}}
    script = f"""
box = open_sandbox(policy, backend="bubblewrap")
job = box.spawn(["sleep", "{number}"])
print("started", flush=True)
"""
    for _ in range(4):
        argv = program(script + "import time; time.sleep(60)")
        owner = subprocess.Popen(argv, **as_user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said, _ = owner.stdout.readline(), owner.kill()
        owner.wait()
        assert b"started" in said
        for stream in (owner.stdout, owner.stderr):
            stream.close()
        # The owner's own command line has the number in it, too.
        assert not survivors(number, 2.0)
    shutil.rmtree(state)
