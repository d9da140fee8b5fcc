"""`remotecl bench`: what commands and transfers cost (`measure`); `bench.haocl` has applications, `bench.dnn` training."""

from .program import BenchRow, measure, run

__all__ = ["BenchRow", "measure", "run"]
