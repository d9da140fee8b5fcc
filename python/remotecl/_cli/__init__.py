"""The command `remotecl`."""
