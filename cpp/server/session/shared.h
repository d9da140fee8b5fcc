#pragma once

#include "server/admission/peer_rules.h"
#include "server/arguments/argument_provider.h"
#include "server/driver/native_driver.h"
#include "server/driver/stdout_capture.h"
#include "server/peer/link_dialer.h"
#include "server/program/build_cache.h"
#include "server/program/program_files.h"
#include "server/session/handler_table.h"
#include "server/session/session_watch.h"
#include "server/status/load_board.h"
#include "server/status/status_collector.h"
#include "server/transfer/upload_store.h"

namespace remotecl::server {

// The parts that all sessions of a process share; they outlive the sessions.
struct Shared {
  const HandlerTable& handlers;
  NativeDriver& driver;
  ProgramFiles& files;
  BuildCache& built;
  UploadStore& uploads;
  ContentStore* store;  // null: nothing is kept
  StdoutCapture& output;
  StatusCollector& board;
  LoadBoard& loads;
  const PeerRules& peers;  // which servers clients may link
  const MakeLinkDialer& dialers;
  SessionWatch& watch;
  const ArgumentProvider& arguments;
};

}  // namespace remotecl::server
