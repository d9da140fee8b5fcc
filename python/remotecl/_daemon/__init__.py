"""The daemon of this machine: how it is started, announced, given keys and stopped."""
