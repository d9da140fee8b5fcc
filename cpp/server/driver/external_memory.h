#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// Whether the driver takes DMA-BUFs as buffers (cl_khr_external_memory_dma_buf). That is memory which another driver
// has made, and which a network card can use as well. OpenCL knows no way back: no driver gives a DMA-BUF of its own
// memory.
bool takes_dma_bufs(cl_device_id device);

}  // namespace remotecl::server
