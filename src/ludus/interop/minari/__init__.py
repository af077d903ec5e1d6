"""Export and import of Minari datasets; needs h5py, not Minari."""

from __future__ import annotations

from ludus.interop.minari.exporting import MinariExport, export_minari
from ludus.interop.minari.importing import MinariImport, import_minari

__all__ = ["MinariExport", "MinariImport", "export_minari", "import_minari"]
