"""A caller without root: what still holds, and what is refused instead of ignored."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ludus
from tests.sandbox.attacks import loaded
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
    "a_shell_that_its_timer_continues": """
import os, shutil, time
source = """
    + repr(loaded.TICK + loaded.CONTINUED)
    + """
if shutil.which("gcc"):
    with open_sandbox(policy, backend="bubblewrap") as box, box.shell() as shell:
        box.write_bytes("x.c", source.encode())
        options = "-shared -fPIC -w -Wl,-z,nodelete -o x.so x.c -lpthread -lrt"
        box.run(["gcc", *options.split()]).check()
        shell.run("export TICKS=/workspace/ticks; enable -f ./x.so x; sleep .2")
        size = lambda: os.stat("ticks", dir_fd=box._root("/workspace")).st_size
        with box.frozen() as is_frozen:
            before = size()
            time.sleep(0.3)
            assert size() == before > 0 and not is_frozen
""",
    "terminals_are_limited": """
count = "import os\\nkept = []\\ntry:\\n while len(kept) < 200: kept.append(os.openpty())\\n"
count += "except OSError: pass\\nprint(len(kept))"
with open_sandbox(policy, backend="bubblewrap") as box:
    done = box.run(["python3", "-c", count])
    assert 8 < int(done.text) <= 64, done
""",
    "what_a_user_has_of_the_kernel_is_left_to_the_caller": """
import os, signal
code = '''
import ctypes, os, signal
libc, instances, signals = ctypes.CDLL(None), 0, 0
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
while instances < 1000 and libc.inotify_init1(0) >= 0:
    instances += 1
value = ctypes.c_void_p(0)
while signals < 10000 and libc.sigqueue(os.getpid(), signal.SIGRTMIN, value) == 0:
    signals += 1
print(instances, signals)
'''
with open_sandbox(policy, backend="bubblewrap") as box:
    done = box.run(["python3", "-c", code])
    instances, signals = map(int, done.text.split())
    assert 8 < instances <= 32 and 100 < signals <= 4096, done
""",
    "limits_of_processes_hold_every_time": """
policy = Policy(memory=None, cpus=None, pids=24, files=200)
with open_sandbox(policy, backend="bubblewrap") as box:
    found = {box.run(["bash", "-c", "ulimit -n; ulimit -l"]).text for _ in range(40)}
    assert found == {"200\\n8192\\n"}, found
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
    "the_mounting_process_may_be_killed": """
import os, signal
from ludus.sandbox.linux import mount_helper as arranger
with open_sandbox(policy, backend="bubblewrap") as first:
    (process,) = arranger._running.values()
    os.kill(process.pid, signal.SIGKILL)
    with open_sandbox(policy, backend="bubblewrap") as second:
        assert second.run(["ls", "/usr"]).text == first.run(["ls", "/usr"]).text
    assert arranger._running[os.getpid()].pid != process.pid
""",
    "the_mounting_process_serves_threads_and_forks": """
import os
from concurrent.futures import ThreadPoolExecutor
def opened(number):
    with open_sandbox(policy, backend="bubblewrap") as box:
        return int(box.run(["sh", "-c", f"echo {number}; ls /usr/src 2>/dev/null"]).text)
with ThreadPoolExecutor(6) as threads:
    assert list(threads.map(opened, range(12))) == list(range(12))
child = os.fork()
if child == 0:
    os._exit(0 if opened(7) == 7 else 1)
assert os.waitpid(child, 0)[1] == 0
assert opened(8) == 8
""",
    "a_stage_that_cannot_be_mounted_is_an_error": """
from ludus.errors import SandboxError
from ludus.sandbox.linux.mount_helper import arrange_stage
for holder in (1, 2**22):
    try:
        arrange_stage(holder, {"folder": "/tmp", "sizes": {}, "shown": []})
    except SandboxError as error:
        assert "PermissionError" in str(error) or "ProcessLookupError" in str(error), error
    else:
        raise SystemExit("mounted in namespaces of others")
open_sandbox(policy, backend="bubblewrap").close()
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


def ends(pid: int) -> bool:
    """Return whether a process ends within two seconds."""
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        with suppress(FileNotFoundError, ProcessLookupError):
            if "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text():
                time.sleep(0.01)
                continue
        return True
    return False


def test_an_owner_that_is_killed_at_once():
    """Nobody has tied the job to its owner yet: the kernel ends it all the same."""
    number = f"250.{os.getpid()}"
    # Its leases stay behind; not among those of other tests that run as this user.
    state = Path(f"/tmp/ludus-killed-{os.getpid()}")
    as_user = {**AS_USER, "env": {**AS_USER["env"], "LUDUS_STATE": str(state)}}
    script = f"""
box = open_sandbox(policy, backend="bubblewrap")
job = box.spawn(["sleep", "{number}"])
from ludus.sandbox.linux import mount_helper as arranger
print("started", *(process.pid for process in arranger._running.values()), flush=True)
"""
    for _ in range(4):
        argv = program(script + "import time; time.sleep(60)")
        owner = subprocess.Popen(argv, **as_user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said, _ = owner.stdout.readline(), owner.kill()
        owner.wait()
        word, mounting = said.split()
        assert word == b"started"
        assert ends(int(mounting))
        for stream in (owner.stdout, owner.stderr):
            stream.close()
        # The owner's own command line has the number in it, too.
        assert not survivors(number, 2.0)
    shutil.rmtree(state)
