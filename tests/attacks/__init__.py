"""Attacks on a daemon, by a client that shares no code with it."""
