#pragma once

#include "server/execution/native_command.h"
#include "server/session/session.h"

namespace remotecl::server {

// Each checks a message, which may be live or recorded, and describes its command on the device.
cl_int describe(SessionObjects& objects, const EnqueueCopy& message, Device& device, CopyBufferCommand& command)
    REQUIRES(session_lock);
cl_int describe(SessionObjects& objects, const EnqueueCopyRect& message, Device& device, CopyRectCommand& command)
    REQUIRES(session_lock);
cl_int describe(SessionObjects& objects, const EnqueueFill& message, Device& device, FillBufferCommand& command)
    REQUIRES(session_lock);
cl_int describe(SessionObjects& objects, const EnqueueCopyImage& message, Device& device, CopyPixelsCommand& command)
    REQUIRES(session_lock);
cl_int describe(SessionObjects& objects, const EnqueueCopyImageBuffer& message, Device& device,
                CopyPixelsCommand& command) REQUIRES(session_lock);
cl_int describe(SessionObjects& objects, const EnqueueFillImage& message, Device& device, FillImageCommand& command)
    REQUIRES(session_lock);

}  // namespace remotecl::server
