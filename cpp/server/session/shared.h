#pragma once

#include "server/admission/peer_rules.h"
#include "server/driver/native_driver.h"
#include "server/driver/output_capture.h"
#include "server/program/built_programs.h"
#include "server/program/program_files.h"
#include "server/session/handler_table.h"
#include "server/session/session_watch.h"
#include "server/status/status_board.h"

namespace remotecl::server {

// What all sessions of a process share; outlives them.
struct Shared {
  const HandlerTable& handlers;
  NativeDriver& driver;
  ProgramFiles& files;
  BuiltPrograms& built;
  OutputCapture& output;
  StatusBoard& board;
  const PeerRules& peers;  // where clients' other servers may be
  SessionWatch& watch;
};

}  // namespace remotecl::server
