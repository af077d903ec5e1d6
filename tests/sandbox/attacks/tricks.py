"""Hostile commands for a persistent shell, and what is true about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["TRICKS", "Trick"]

PLAIN = "aims at helpers that a plain shell does without"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trick:
    """A hostile command and what is true about it."""

    name: str
    threat: str
    command: str
    code: int | None = None
    stdout: bytes | None = None
    keeps: bool = True
    """The shell itself lives on, with its folder and variables."""
    late: bool | None = False
    """It runs into its time-out; ``None``: it may, having broken what reports its end."""
    timeout: float = 2.0
    unboxed: str = ""
    own_kernel: str = ""
    """Why it may be late where the box has a kernel of its own."""
    policy: tuple[tuple[str, Any], ...] = ()


EVERY_DESCRIPTOR = r"""
for token in __DONE__ 0 "$@" $TOKENS; do
  for file in /proc/$$/fd/*; do
    case $file in */0) continue;; esac
    printf '\n%s 0\n%s:0\n0\n' "$token" "$token" > $file
  done
done 2>/dev/null
/bin/sh -c 'exit 7'
"""

# Look for what might be a marker in the shell's own memory, and say it on all of its descriptors.
READ_MEMORY = r"""
/usr/bin/python3 -I -S - <<'END'
import os, re, sys
shell = os.getppid()
found = {b"__DONE__"}
try:
    for line in open(f"/proc/{shell}/maps"):
        if "heap" in line or "stack" in line:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            with open(f"/proc/{shell}/mem", "rb", 0) as memory:
                memory.seek(low)
                found |= set(re.findall(rb"[0-9A-Za-z_-]*[0-9a-f]{12,64}", memory.read(high - low)))
except OSError:
    pass
for name in os.listdir(f"/proc/{shell}/fd"):
    try:
        if name == "0":
            continue
        out = os.open(f"/proc/{shell}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        continue
    for token in list(found)[:200]:
        for line in (b"\n%s 0\n", b"%s:0\n", b"0 %s\n", b"%s\n", b"\0%s\0000\0"):
            try:
                os.write(out, line % token if b"%s" in line else line)
            except OSError:
                pass
sys.exit(7)
END
"""

OWN_VARIABLES = (
    r"""
{ set; declare -f; tr '\0' '\n' </proc/$$/cmdline; tr '\0' '\n' </proc/$$/environ; } > ../all
TOKENS=$(grep -aoE '[0-9A-Za-z_]*[0-9a-f]{8,}' ../all | sort -u | head -n 40)
"""
    + EVERY_DESCRIPTOR
)

FORGERIES = (
    Trick(
        name="print_marker",
        threat="a failed command that passes for a success",
        command="printf '__DONE__ 0\\n'; /bin/sh -c 'exit 7'",
        code=7,
        stdout=b"__DONE__ 0\n",
    ),
    Trick(
        name="write_every_descriptor",
        threat="the channel that carries the exit code",
        command="TOKENS=\n" + EVERY_DESCRIPTOR,
        code=7,
    ),
    Trick(
        name="find_marker_in_variables",
        threat="a secret marker that the shell itself keeps",
        command=OWN_VARIABLES,
        code=7,
    ),
    Trick(
        name="find_marker_in_memory",
        threat="a secret marker in the shell's memory",
        command=READ_MEMORY,
        keeps=False,
    ),
    Trick(
        name="override_by_functions",
        threat="the shell's own steps, replaced by functions",
        command="for f in echo printf builtin command eval read exec trap return local test"
        ' source set wait kill; do builtin eval "$f() { :; }"; done; /bin/sh -c "exit 7"',
        code=7,
        keeps=False,
        late=None,
    ),
    Trick(
        name="override_by_aliases",
        threat="the shell's own steps, replaced by aliases",
        command="shopt -s expand_aliases; for a in echo printf builtin command eval read exec trap;"
        " do alias $a=:; done; /bin/sh -c 'exit 7'",
        code=7,
        keeps=False,
        late=None,
    ),
    Trick(
        name="alias_own_functions",
        threat="the functions that report the status of later commands",
        command="shopt -s expand_aliases; for f in $(compgen -A function) echo;"
        " do alias $f=:; done; /bin/sh -c 'exit 7'",
        code=7,
        keeps=False,
        late=None,
    ),
    Trick(
        name="forge_later_status",
        threat="the status of every later command",
        command="shopt -s expand_aliases; alias echo='echo __DONE__ 0; :';"
        " forge() { printf '%s 0\\n' \"$1\" >&99; }; for f in $(compgen -A function); do"
        " [ $f = forge ] || alias $f=forge; done; /bin/sh -c 'exit 7'",
        keeps=False,
        late=None,
    ),
    Trick(
        name="disable_builtins",
        threat="the shell's own steps, switched off",
        command="enable -n echo printf read; PATH=/none; /bin/sh -c 'exit 7'",
        code=7,
        keeps=False,
        late=None,
    ),
    Trick(
        name="replace_programs",
        threat="programs that the shell calls by name",
        command="mkdir -p evil; for n in cat tee mktemp rm kill cp sh bash env mkfifo sleep true;"
        " do printf '#!/bin/sh\\necho forged; exit 0\\n' > evil/$n; /bin/chmod +x evil/$n; done;"
        " PATH=$PWD/evil; hash -r; /bin/sh -c 'exit 7'",
        code=7,
        unboxed=PLAIN,
    ),
    Trick(
        name="split_exit_code",
        threat="an exit code that falls apart at IFS",
        command="IFS=01234567; /bin/sh -c 'exit 7'",
        code=7,
    ),
    Trick(
        name="debug_trap",
        threat="every step of the shell, skipped by a trap",
        command="shopt -s extdebug; trap 'false' DEBUG; /bin/sh -c 'exit 7'",
        keeps=False,
        late=None,
    ),
    Trick(
        name="exit_trap",
        threat="a shell that ends with a lie",
        command="trap 'echo __DONE__ 0; kill -9 $$' EXIT; exit 5",
        keeps=False,
        stdout=b"__DONE__ 0\n",
    ),
    Trick(
        name="freeze_variables",
        threat="state that the shell can no longer change",
        command='for v in $(compgen -v); do readonly "$v"; done 2>/dev/null; /bin/sh -c "exit 7"',
        code=7,
        unboxed=PLAIN,
    ),
    Trick(
        name="unset_variables",
        threat="state that the shell has lost",
        command='for v in $(compgen -v); do [ "$v" = kept ] || unset "$v"; done 2>/dev/null;'
        ' PWD=$(/bin/pwd); /bin/sh -c "exit 7"',
        code=7,
        unboxed=PLAIN,
    ),
    Trick(
        name="strict_options",
        threat="the shell's own steps, made to fail",
        command="set -o noclobber -o noglob -o posix -o nounset -o pipefail; /bin/sh -c 'exit 7'",
        code=7,
        unboxed=PLAIN,
    ),
    Trick(
        name="prompt_command",
        threat="code that runs between the commands",
        command="PROMPT_COMMAND='exit 9'; PS0='$(kill -9 $$)'; PS4=$PS0; BASH_ENV=/dev/stdin;"
        " export BASH_ENV; /bin/sh -c 'exit 7'",
        code=7,
        unboxed="bash looks at these only with a prompt",
    ),
    Trick(
        name="tight_limits",
        threat="files that the shell can no longer write",
        command="umask 777; ulimit -f 0; echo out; /bin/sh -c 'exit 7'",
        code=7,
        stdout=b"out\n",
        unboxed=PLAIN,
    ),
)

BREAKAGES = (
    Trick(
        name="exit",
        threat="all commands after it",
        command="echo out; exit 3",
        code=3,
        stdout=b"out\n",
        keeps=False,
    ),
    Trick(name="exec", threat="all commands after it", command="exec true", keeps=False),
    Trick(
        name="exit_on_error", threat="all commands after it", command="set -e; false", keeps=False
    ),
    Trick(
        name="never_execute",
        threat="all commands after it: set -n reads and does nothing",
        command="set -n",
        keeps=False,
        late=None,
    ),
    Trick(name="kill_itself", threat="all commands after it", command="kill -9 $$", keeps=False),
    Trick(
        name="stop_itself",
        threat="the host, waiting for a stopped shell",
        command="kill -STOP $$",
        keeps=False,
        late=True,
    ),
    Trick(
        name="overflow_stack",
        threat="all commands after it",
        command="ulimit -c 0; ulimit -s 256; f() { f; }; f",
        keeps=False,
        timeout=5,
        own_kernel="gVisor holds no stack to its limit: only memory and time end it",
    ),
    Trick(
        name="redirect_output",
        threat="the output of all commands after it",
        command="exec >/dev/null 2>&1",
    ),
    Trick(
        name="close_descriptors",
        threat="the channels of all commands after it",
        command='for n in {0..255}; do eval "exec $n>&-"; done 2>/dev/null',
        keeps=False,
        late=None,
    ),
    Trick(
        name="replace_input",
        threat="the channel that commands come in by",
        command="exec 0</dev/null",
        late=None,
    ),
    Trick(name="eat_input", threat="the commands after it", command="cat", code=0, stdout=b""),
    Trick(
        name="read_input",
        threat="the commands after it",
        command='read -t 0.3 line; echo "got:$line"',
        stdout=b"got:\n",
    ),
    Trick(name="unclosed_quote", threat="the shell's own text", command='echo "open'),
    Trick(name="unclosed_heredoc", threat="the shell's own text", command="cat <<NEVER\ntext"),
    Trick(name="unclosed_group", threat="the shell's own text", command="( echo open"),
    Trick(name="continued_line", threat="the shell's own text", command="echo a \\", stdout=b"a\n"),
    Trick(
        name="closed_group",
        threat="the shell's own text",
        command="echo a; }; echo b; {",
        unboxed=PLAIN,
    ),
    Trick(
        name="deleted_folder",
        threat="a shell that cannot return to its folder",
        command="mkdir gone; cd gone; rmdir ../gone; cd ..; /bin/sh -c 'exit 7'",
        code=7,
        unboxed=PLAIN,
    ),
    Trick(
        name="folder_replaced_by_link",
        threat="a folder of the host that the shell returns to",
        command="cd ..; rmdir sub; ln -s /proc/1/root sub; cd /",
        keeps=False,
        unboxed=PLAIN,
    ),
    Trick(
        name="flood",
        threat="the memory of the host's program",
        command="head -c 1000000 /dev/zero",
        policy=(("output", 65536),),
        timeout=4,
    ),
)

FLOODS = (
    Trick(
        name="endless_flood",
        threat="the host's program, reading for ever",
        command="yes",
        policy=(("output", 65536),),
        late=True,
        unboxed="it would fill the memory of the host",
    ),
    Trick(
        name="flood_status_channel",
        threat="the channel that the exit code comes by",
        command="for file in /proc/$$/fd/*; do case ${file##*/} in 0|1|2) ;; *) yes 0 > $file & ;;"
        " esac; done 2>/dev/null; sleep SLEEP",
        policy=(("output", 65536),),
        late=True,
        keeps=False,
        unboxed=PLAIN,
    ),
)

ESCAPES = (
    Trick(
        name="background",
        threat="processors after the command",
        command="sleep SLEEP & echo out",
        stdout=b"out\n",
    ),
    Trick(
        name="disowned",
        threat="processors after the command",
        command="(setsid sleep SLEEP >/dev/null 2>&1 &) ; (nohup sleep SLEEP >/dev/null 2>&1 &);"
        " echo out",
        stdout=b"out\n",
    ),
    Trick(
        name="coprocess",
        threat="processors after the command",
        command="coproc sleep SLEEP; echo out",
        stdout=b"out\n",
    ),
    Trick(
        name="late_child",
        threat="processors after the time-out",
        command="trap '' INT TERM HUP USR1; sleep SLEEP",
        late=True,
    ),
    Trick(
        name="late_loop",
        threat="a processor: the shell itself never ends",
        command="trap '' INT TERM HUP QUIT USR1 USR2; while :; do :; done",
        late=True,
        keeps=False,
    ),
    Trick(
        name="late_tree",
        threat="processors after the time-out",
        command="(setsid sh -c 'sleep SLEEP & sleep SLEEP' &); sleep SLEEP",
        late=True,
    ),
)

TRICKS = (*FORGERIES, *BREAKAGES, *FLOODS, *ESCAPES)
