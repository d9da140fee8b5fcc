"""The present state of servers, devices and links."""
