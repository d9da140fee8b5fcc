"""Where buffers are, and how they are brought to other places."""
