"""What servers, devices and links do now."""
