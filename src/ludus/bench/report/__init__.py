"""Reports of benchmark results: one HTML file that needs no network, and Markdown.

::

    from ludus.bench.report import write_report

    files = write_report(results, "report.html", references={"CartPole-v1": (20.0, 500.0)})
"""

from __future__ import annotations

from ludus.bench.report.write import ReportFiles, write_report

__all__ = ["ReportFiles", "write_report"]
