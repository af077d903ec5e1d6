"""Recordings as Parquet files, one row per step of one environment, and back to the bit."""

from __future__ import annotations

from ludus.interop.parquet.exporting import ParquetExport, export_parquet
from ludus.interop.parquet.importing import ParquetImport, import_parquet

__all__ = ["ParquetExport", "ParquetImport", "export_parquet", "import_parquet"]
