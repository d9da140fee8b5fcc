"""`remotecl bench`: commands and transfers (`measure`), applications (`haocl`), training (`dnn`), streams (`ar`)."""

from .program import BenchRow, measure, run

__all__ = ["BenchRow", "measure", "run"]
