"""Strict readers of submitted data. None of them executes, unpickles or evaluates anything."""

from __future__ import annotations

from ludus.research.grading.formats.npz import read_npz
from ludus.research.grading.formats.safetensors import read_safetensors
from ludus.research.grading.formats.table import Column, Table, read_csv
from ludus.research.grading.formats.texts import read_json, read_text

__all__ = [
    "Column",
    "Table",
    "read_csv",
    "read_json",
    "read_npz",
    "read_safetensors",
    "read_text",
]
