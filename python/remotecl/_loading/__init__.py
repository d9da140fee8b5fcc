"""Making the OpenCL loader of this process find remotecl; environment and configuration."""
