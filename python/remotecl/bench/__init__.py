"""`remotecl bench`: what commands and transfers cost (`measure`), applications (`haocl`), and training (`dnn`)."""

from .program import BenchRow, measure, run

__all__ = ["BenchRow", "measure", "run"]
