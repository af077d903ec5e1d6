"""Small programs in the place of engines."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from pathlib import Path

GNUGO = """
    import sys
    log = open(sys.argv[0] + ".log", "a")
    for line in sys.stdin:
        log.write(line); log.flush()
        word = line.split()[0]
        print("= ANSWER" if word == "genmove" else "=", flush=True)
        print(flush=True)
"""
STOCKFISH = """
    import sys
    log = open(sys.argv[0] + ".log", "a")
    for line in sys.stdin:
        log.write(line); log.flush()
        word = line.split()[0]
        if word == "uci": print("id name fake\\nuciok", flush=True)
        if word == "isready": print("readyok", flush=True)
        if word == "go": print("info depth 1\\nbestmove ANSWER ponder a2a3", flush=True)
"""
SILENT = """#!/bin/sh
/bin/sleep 600 &
echo "$$ $!" > "$0.pids"
exec /bin/sleep 600
"""


def write_program(path, text, answer=""):
    """Write a program, for Python unless it says otherwise; return its path."""
    body = textwrap.dedent(text).replace("ANSWER", answer)
    path.write_text(body if body.startswith("#!") else f"#!{sys.executable} -S\n{body}")
    path.chmod(0o755)
    return path


def gone(pid, patience=2.0):
    """Tell whether a process is no more, or only waits for somebody else to notice."""
    until = time.monotonic() + patience
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return not is_child(pid)
        except (FileNotFoundError, ProcessLookupError):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.01)


def is_child(pid):
    """Tell whether a process is ours to reap."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
