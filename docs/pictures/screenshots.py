"""Take the pictures of docs/view.md: pages of the viewer about a benchmark and an episode.

Usage: ``python docs/pictures/screenshots.py``; needs ``ludus-gym[view,research]``, playwright,
bubblewrap and Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from ludus.bench.running.demo import verified_benchmark
from ludus.research.running.demo import research_episode

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def shoot(
    browser: Browser, address: str, name: str, *, size: tuple[int, int], dark: bool = False
) -> None:
    """Take one picture."""
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
    )
    page.goto(address)
    page.wait_for_timeout(300)
    page.screenshot(path=HERE / f"{name}.png")
    page.close()


def main() -> None:
    """Run what is shown, serve it, and take all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        verified_benchmark(Path(folder, "classic"))
        episode = research_episode(Path(folder, "research")).record
        server = subprocess.Popen(  # noqa: S603 - this library's own command
            [sys.executable, "-m", "ludus", "view", folder, "--port", "0", "--no-open"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            line = "" if server.stdout is None else server.stdout.readline()
            home = line.split()[4].rstrip("/")
            base = f"{home}/run/research/e/{Path(episode).name}"
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                shoot(browser, base, "view-episode", size=(1200, 860))
                shoot(browser, f"{base}/s/2", "view-step-dark", size=(1200, 860), dark=True)
                shoot(browser, f"{home}/runs?list=episodes", "view-runs", size=(1200, 520))
                shoot(browser, base, "view-phone", size=(390, 780))
                browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
