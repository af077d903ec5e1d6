"""The code of a page of the documentation, run in the environment of a peer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(name: str, folder: Path) -> None:
    """Run all code of a page in a folder.

    Raises:
        AssertionError: It fails.
    """
    script = folder / "page.py"
    script.write_text("\n".join(BLOCK.findall((ROOT / "docs" / name).read_text())))
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=folder)
    assert done.returncode == 0, done.stderr
