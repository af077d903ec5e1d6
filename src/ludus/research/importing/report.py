"""What an import mapped and what it could not: one row per field."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["ImportReport", "Row", "Rows", "Status"]

Status = Literal["mapped", "adapted", "left out"]
"""``adapted`` means that the result behaves differently from the original; the detail says how."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one field or file was mapped."""

    field: str
    status: Status
    detail: str


@dataclass(slots=True)
class Rows:
    """Collects the rows of an import."""

    rows: list[Row] = field(default_factory=list)

    def mapped(self, name: str, detail: str) -> None:
        """Add a field that has an exact counterpart."""
        self.rows.append(Row(name, "mapped", detail))

    def adapted(self, name: str, detail: str) -> None:
        """Add a field whose counterpart differs."""
        self.rows.append(Row(name, "adapted", detail))

    def left_out(self, name: str, detail: str) -> None:
        """Add a field without a counterpart."""
        self.rows.append(Row(name, "left out", detail))


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    Attributes:
        format: The format of the source.
        kind: ``task`` or ``agent``.
        id: The task's id, or the agent's name.
        path: The folder or file that was written.
        rows: How each field was mapped.
    """

    format: str
    kind: Literal["task", "agent"]
    id: str
    path: Path
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        rows = [{"field": r.field, "status": r.status, "detail": r.detail} for r in self.rows]
        return {
            "format": self.format,
            "kind": self.kind,
            "id": self.id,
            "path": str(self.path),
            "fields": rows,
        }
