"""`remotecl bench`: what commands and transfers cost (`measure`), and five applications (`remotecl.bench.haocl`)."""

from .program import BenchRow, measure, run

__all__ = ["BenchRow", "measure", "run"]
