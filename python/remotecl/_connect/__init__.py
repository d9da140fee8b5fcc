"""Connections to servers, discovery of servers, and Ctrl-C during waits."""
