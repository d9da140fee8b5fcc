"""What servers, devices and links did, and when."""
