"""Export of recordings as Parquet files, and lossless import."""

from __future__ import annotations

from ludus.interop.parquet.exporting import ParquetExport, export_parquet
from ludus.interop.parquet.importing import ParquetImport, import_parquet

__all__ = ["ParquetExport", "ParquetImport", "export_parquet", "import_parquet"]
