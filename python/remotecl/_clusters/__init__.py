"""Daemons of several machines that are started and stopped together."""
