#pragma once

#include "server/completion/cl.h"

namespace remotecl::server {

// Whether the driver takes DMA-BUFs as buffers (cl_khr_external_memory_dma_buf). A DMA-BUF is memory of another
// driver that a network card can use as well. OpenCL has no counterpart: no driver exports its own memory as a DMA-BUF.
bool takes_dma_bufs(cl_device_id device);

}  // namespace remotecl::server
