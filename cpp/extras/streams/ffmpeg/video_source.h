#pragma once

#include <memory>

#include "extras/streams/support/rules.h"
#include "extras/streams/support/source.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

// The pictures of a video: of a file (paced by its own times, if wanted), of a connection or datagrams that carry a
// container, of a camera, of an address that FFmpeg knows. Throws PluginError.
std::unique_ptr<Source> open_video(const StreamName& name, const Rules& rules);

}  // namespace remotecl::plugins
