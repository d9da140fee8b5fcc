#pragma once

#include "fakes/plain_strand.h"
#include "fakes/wire/fault_connection.h"
#include "server/execution/execution.h"
#include "server/transfer/transfer_table.h"

namespace remotecl::testing {

// What the transfers of a session need, without the session.
struct SessionTransfers {
  explicit SessionTransfers(const server::MemoryLimits& limits = {})
      : counters(make_ref<server::SessionCounters>(make_ref<server::MemoryQuota>(
            0, make_ref<server::Counters>(server::MemoryQuota::counters(0)), limits, nullptr))) {}
  ~SessionTransfers() {
    table.stop();
    outbox.stop();
  }
  SessionTransfers(const SessionTransfers&) = delete;
  SessionTransfers& operator=(const SessionTransfers&) = delete;

  FaultConnection wire;
  Ref<server::SessionCounters> counters;
  server::Outbox outbox{wire, counters};
  Ref<PlainStrand> strand = make_ref<PlainStrand>();
  server::Execution execution{*strand, outbox, counters};
  server::TransferTable table{*strand, execution.issuer, execution.reporter, outbox, counters};
};

}  // namespace remotecl::testing
