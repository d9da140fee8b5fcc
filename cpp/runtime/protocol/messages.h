#pragma once

// The messages of the control connection. PROTOCOL.md says what each one means.
#include "runtime/protocol/messages/command.h"
#include "runtime/protocol/messages/command_buffer.h"
#include "runtime/protocol/messages/completion.h"
#include "runtime/protocol/messages/device.h"
#include "runtime/protocol/messages/device_transfer.h"
#include "runtime/protocol/messages/image.h"
#include "runtime/protocol/messages/load.h"
#include "runtime/protocol/messages/memory.h"
#include "runtime/protocol/messages/output.h"
#include "runtime/protocol/messages/peer.h"
#include "runtime/protocol/messages/program.h"
#include "runtime/protocol/messages/session.h"
#include "runtime/protocol/messages/status.h"
#include "runtime/protocol/messages/svm.h"
#include "runtime/protocol/messages/trace.h"
#include "runtime/protocol/messages/upload.h"
