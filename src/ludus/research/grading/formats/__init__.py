"""Strict readers of submitted data. None of them executes, unpickles or evaluates anything."""

from __future__ import annotations

from ludus.research.grading.formats.json_text import read_json
from ludus.research.grading.formats.npz import read_npz
from ludus.research.grading.formats.plain_text import read_text
from ludus.research.grading.formats.safetensors import read_safetensors
from ludus.research.grading.formats.table import Column, Table, read_csv

__all__ = [
    "Column",
    "Table",
    "read_csv",
    "read_json",
    "read_npz",
    "read_safetensors",
    "read_text",
]
