"""Connections to servers, how servers are found, and Ctrl-C while one is waited for."""
