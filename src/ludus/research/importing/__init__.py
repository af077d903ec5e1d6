"""Import of tasks that were written for other systems.

:func:`import_task` turns a folder or file of another system into a task folder, and reports how
each field was mapped. Imported programs run in sandboxes only: evaluation scripts, tests and
grading functions in the grader's, data preparation in one of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_attributes

if TYPE_CHECKING:
    from ludus.research.importing.importer import FORMATS, ImportOptions, import_task
    from ludus.research.importing.report import ImportReport, Row

__all__ = ["FORMATS", "ImportOptions", "ImportReport", "Row", "import_task"]

_NAMES = {
    "ludus.research.importing.importer": "FORMATS ImportOptions import_task",
    "ludus.research.importing.report": "ImportReport Row",
}

# The programs in sandboxes import modules of this package and need none of these names.
__getattr__ = lazy_attributes(
    __name__, {name: home for home, names in _NAMES.items() for name in names.split()}
)


def __dir__() -> list[str]:
    return __all__
