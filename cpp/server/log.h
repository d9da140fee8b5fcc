#pragma once

// The daemon's log goes to stderr; stdout is for what scripts read.
#include <spdlog/spdlog.h>
