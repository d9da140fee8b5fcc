"""`remotecl bench`: commands and transfers (`measure`); a link that is slow, and the native device to compare with."""

from .program import BenchRow, measure, run

__all__ = ["BenchRow", "measure", "run"]
