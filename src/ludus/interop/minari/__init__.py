"""Recordings as Minari datasets, and Minari datasets as runs; only h5py is needed."""

from __future__ import annotations

from ludus.interop.minari.exporting import MinariExport, export_minari
from ludus.interop.minari.importing import MinariImport, import_minari

__all__ = ["MinariExport", "MinariImport", "export_minari", "import_minari"]
