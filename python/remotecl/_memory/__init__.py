"""Where buffers are, and moving them."""
