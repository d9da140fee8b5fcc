"""How the OpenCL loader of this process comes to remotecl, and what environment and configuration say."""
