"""`remotecl bench ar`: an animated point cloud from a video, decoded, sorted and drawn here and there."""
