#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/process_watch.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/frames.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/stream/resumable_connection.h"
#include "server/admission/peer_rules.h"
#include "server/admission/users.h"
#include "server/completion/event_poller.h"
#include "server/driver/native_driver.h"
#include "server/driver/output_capture.h"
#include "server/driver/sub_device_table.h"
#include "server/execution/command_buffer.h"
#include "server/execution/issuer.h"
#include "server/memory/buffer.h"
#include "server/memory/image.h"
#include "server/memory/region.h"
#include "server/memory/sampler.h"
#include "server/peer/peer_table.h"
#include "server/program/built_programs.h"
#include "server/program/kernel.h"
#include "server/program/program.h"
#include "server/program/program_files.h"
#include "server/quota/held_memory.h"
#include "server/quota/session_counters.h"
#include "server/session/printing_patience.h"
#include "server/session/session_activity.h"
#include "server/session/session_watch.h"
#include "server/status/status_board.h"
#include "server/transfer/bulk_channel.h"
#include "server/util/object_table.h"
#include "server/util/worker.h"
#include "server/wire/outbox.h"
#include "server/wire/stripes.h"

namespace remotecl::server {

// What all sessions of a daemon share; outlives them.
struct Shared {
  NativeDriver& driver;
  ProgramFiles& files;
  BuiltPrograms& built;
  OutputCapture& output;
  StatusBoard& board;
  SessionActivity& activity;
  const PeerRules& peers;  // where clients' other servers may be
  SessionWatch& watch;
};

// What a message for the worker is about: the program that it names, and those that it includes or links.
struct ProgramWork {
  Ref<Program> program;
  std::vector<Ref<Program>> others;
};

// Buffers that commands may still use.
struct KeptBuffers {
  std::vector<Ref<Buffer>> buffers;
  HeldMemory held;
};

// One client. The server and whoever has work of it in flight own it. Threads: the control connection's reads
// commands and hands them to the native drivers; those of the channels move bulk data; a worker builds, another one
// goes on where a driver's callback may not, a third runs what prints. All state is under one lock, except what says
// otherwise.
class Session final : public RefCounted {
 public:
  // `address`: the client's. `is_resumable`: it will connect again when it loses a connection.
  Session(const Shared& shared, std::unique_ptr<Connection> control, const Address& address, std::uint64_t id,
          const Secret& secret, std::unique_ptr<Grant> grant, bool is_resumable);
  ~Session() override;

  // Who the client says it is.
  struct Client {
    std::uint64_t process = 0;
    std::string host, program;
  };

  std::uint64_t id() const { return id_; }
  const Secret& secret() const { return secret_; }
  const Grant& grant() const { return *grant_; }

  // On the control connection's thread: serves until the connection ends, then gives everything back, waiting
  // for this session's native work.
  void run();
  // The client wants so many channels; once. There is one before, and no more than this side wants after it.
  void use_channels(unsigned wanted);
  unsigned channels() const { return channel_count_.load(std::memory_order_acquire); }
  // Null: there is none with this number. Any thread.
  BulkChannel* channel(unsigned number) const;
  // That of the queue's device. Any thread.
  BulkChannel& channel_of(const Queue& queue) const;
  // Of a stream that another connection may carry on. `name`: for people. `acknowledge` tells the client what has come.
  ResumableConnection::Hooks stream_hooks(const char* name, std::function<void(std::uint64_t)> acknowledge);
  // What a new connection may carry on.
  std::vector<OpenStream> streams(Role role, unsigned channel);
  // How long the other end of a lost connection is waited for.
  std::chrono::milliseconds window() const { return window_; }
  const PeerRules& peer_rules() const { return shared_.peers; }

  // Ends the session, with last words for the client unless they are empty. Any thread.
  void close(const std::string& text);
  // The same; the client is told so, too, when it misses these words and comes back for the session.
  void end_with(const std::string& text) EXCLUDES(client_mutex_);
  // Of end_with(); empty: it was not called.
  std::string end_words() const EXCLUDES(client_mutex_);
  // Since when it is over, and only gives back what it has; empty: it is not. Any thread.
  std::optional<std::chrono::steady_clock::time_point> over_since() const;
  // Runs `job` with the lock on a thread where native commands may be enqueued. Any thread, a callback too.
  void later(std::function<void()> job);
  // All bytes of a transfer have moved. The threads of its channel.
  void finish_transfer(Transfer& transfer);
  // It has failed before. Any thread, a callback too.
  void fail_transfer(Ref<Transfer> transfer, cl_int error);
  // All bytes of a transfer were here before it could begin. Any thread.
  void finish_transfer_with(Ref<IncomingTransfer> transfer, std::shared_ptr<std::byte[]> bytes);
  // Runs `job` with the lock, and what follows from it. False, and nothing was run, when the session is closed.
  template <class Job>
  bool with_lock(Job&& job) EXCLUDES(mutex_) {
    {
      LeavingLock lock(mutex_);
      if (closed_) return false;
      job();
      settle();
    }
    outbox_.flush();
    return true;
  }
  // Of a bulk transfer to here that has been announced and has not ended; null when there is none. With the lock.
  // Throws ProtocolError when the id is in use: on whichever channel, and from whichever peer.
  Ref<TransferProgress> begin_progress(TransferId transfer);
  void forget_progress(TransferId transfer);
  Ref<TransferProgress> find_progress(TransferId transfer);
  // Runs `work`, which may block, and then finish_transfer(), on one of a few threads. With the lock.
  void move(Ref<Transfer> transfer, void (*work)(Transfer&, StagingPool&));
  // Sends Finished when all that the driver has of the queue has ended. With the lock.
  cl_int tell_finished(Queue& queue, Token token);
  // Runs a long command that prints, after all that it waits for, while no other one does. With the lock.
  void print(Issue& issue, std::function<cl_int(Issue&)> command);
  // Adds EventDone, and CommandFailed for a failure, to the outbox. Any thread, a callback too.
  void report_end(const Event& event, std::int32_t status, cl_event first, cl_event last);
  // The same with CommandTraced, of one command and of several.
  void report_trace(const Event& event, std::int32_t status);
  void report_trace(const TraceSpan& span, std::int32_t status);
  void tell_trace(const CommandTraced& report);

  // For the daemon's status. Any thread.
  const Address& address() const { return address_; }
  std::chrono::steady_clock::time_point begun() const { return begun_; }
  const Ref<SessionCounters>& counters() const { return counters_; }
  Client client() const EXCLUDES(client_mutex_);
  Traffic traffic() const;
  // Sees to it that it becomes known when what the driver has now has ended; not at once when the lock is in use.
  void find_ends();
  // The driver has so much of what the queue was given, until that has ended. True: the session is to wait. With the
  // lock.
  bool count_backlog(Queue& queue, std::uint64_t size);
  // What keeps an answer that comes later takes until it goes. Throws HeldTooMuch. Any thread.
  std::shared_ptr<const HeldMemory> hold_answer() const {
    constexpr std::uint64_t kSize = 1024;  // with the driver's part, about
    return std::make_shared<const HeldMemory>(counters_, kSize);
  }

  Outbox& outbox() { return outbox_; }                                     // any thread
  StripeTable& stripes() { return stripes_; }                              // any thread
  PeerTable& peers() { return peers_; }                                    // any thread
  Issuer& issuer() { return issuer_; }                                     // with the lock
  std::shared_ptr<ArgumentSnapshot> snapshot(const DeviceKernel& kernel);  // with the lock
  void let_go(std::list<KeptBuffers>::iterator kept);                      // with the lock

 private:
  friend struct Dispatch;

  std::unique_ptr<Connection> make_control(std::unique_ptr<Connection> carrier, bool is_resumable);
  void expect_back(const Introduce& message, const std::string& own_host);
  void serve();
  void run(const std::function<void()>& job);
  void execute(std::uint16_t code, Bytes payload) REQUIRES(mutex_);
  void execute_traced(std::uint16_t code, std::uint16_t flags, Bytes payload) REQUIRES(mutex_);
  void settle() REQUIRES(mutex_);
  void note_over();
  // Counts what the messages so far have left in the tables. Throws HeldTooMuch.
  void count_tables();
  void tear_down();

  void handle(const Ping&);
  void handle(const Introduce&);
  void handle(const ClientReceived&);
  void handle(const Leave&);
  void handle(const GetStatus&);
  void handle(const KickSession&);
  void handle(const CreateQueue&);
  void handle(const ReleaseQueue&);
  void handle(const CreateBuffer&);
  void handle(const CreateSubBuffer&);
  void handle(const ReleaseBuffer&);
  void handle(const CreateImage&);
  void handle(const ReleaseImage&);
  void handle(const CreateSampler&);
  void handle(const ReleaseSampler&);
  void handle(const CreateProgramWithSource&);
  void handle(const CreateProgramWithBinary&);
  void handle(const CreateProgramWithIL&);
  void handle(const CreateProgramWithBuiltInKernels&);
  void handle(const ReleaseProgram&);
  void handle(const CreateKernel&);
  void handle(const ReleaseKernel&);
  void handle(const QueryKernel&);
  void handle(const SuggestLocalSize&);
  void handle(const EnqueueKernel&);
  void handle(const EnqueueRead&);
  void handle(const EnqueueWrite&);
  void handle(const EnqueueReadRect&);
  void handle(const EnqueueWriteRect&);
  void handle(const EnqueueCopy&);
  void handle(const EnqueueCopyRect&);
  void handle(const EnqueueFill&);
  void handle(const EnqueueReadImage&);
  void handle(const EnqueueWriteImage&);
  void handle(const EnqueueCopyImage&);
  void handle(const EnqueueFillImage&);
  void handle(const EnqueueCopyImageBuffer&);
  void handle(const GetImageFormats&);
  void handle(const EnqueueMarker&);
  void handle(const AllocateSvm&);
  void handle(const SetKernelSvm&);
  void handle(const Finish&);
  void handle(const ObserveEvent&);
  void handle(const ReleaseEvent&);
  void handle(const ExpectEvent&);
  void handle(const SignalEvent&);
  void handle(const AcceptPeer&);
  void handle(const ConnectPeer&);
  void handle(const ClosePeer&);
  void handle(const ForwardEvent&);
  void handle(const EnqueueSend&);
  void handle(const EnqueueReceive&);
  void handle(const EnqueueTransfer&);
  void handle(const CreateSubDevices&);
  void handle(const ReleaseSubDevice&);
  void handle(const ReadClock&);
  void handle(const FlushTrace&);
  void handle(const CreateCommandBuffer&);
  void handle(const ReleaseCommandBuffer&);
  void handle(const EnqueueCommandBuffer&);
  void handle(const QueryCommandBuffer&);
  // On the worker, without the lock.
  void work(const AddProgramBinary&, const ProgramWork& work);
  void work(const SpecializeProgram&, const ProgramWork& work);
  void work(const InspectProgram&, const ProgramWork& work);
  void work(const BuildProgram&, const ProgramWork& work);
  void work(const CompileProgram&, const ProgramWork& work);
  void work(const LinkProgram&, const ProgramWork& work);
  void work(const GetProgramBinary&, const ProgramWork& work);
  // Before that, when the message is received.
  template <class Message>
  ProgramWork work_of(const Message& message) {
    return {existing_program(message.program), {}};
  }
  ProgramWork work_of(const CompileProgram&);
  ProgramWork work_of(const LinkProgram&);

  // Calls `then`, on any thread, when all that the driver has of the queue has ended; `worker` waits where nothing
  // else does.
  template <class Then>
  cl_int when_ended(Queue& queue, Then then, Worker& worker);
  Queue& queue(ObjectId id);
  Device& device(std::uint32_t index);  // any thread
  void check_indices(const Array<std::uint32_t>& indices);
  // What a transfer between peers or devices names.
  template <class Message>
  cl_int region_of(const Message& message, Region& region);
  // This session's turn on a device; null when another one has it alone.
  Ref<DeviceTurn> turn_on(Device& device);
  // Executes what has come whole, up to where a device has as much work as it should have. True: there is more.
  bool execute_some(MessageBuffer& buffer, EventPoller& poller) REQUIRES(mutex_);
  cl_int set_arguments(DeviceKernel& kernel, Device& device, const Sequence<KernelArgument>& changed);
  cl_int set_argument(DeviceKernel& kernel, Device& device, std::uint32_t index);
  cl_int check_arguments(DeviceKernel& kernel);
  // The allocation that an address of the client's lies in, or null.
  Buffer* find_svm(std::uint64_t address) const;
  void release_svm(Ref<Buffer> buffer);
  // Keeps what commands of the queue may use until they have ended: everything, or these.
  void keep_svm(Queue& queue);
  void keep_svm(Queue& queue, std::vector<Ref<Buffer>> buffers);
  Memory* memory_of(const StoredArgument& argument) const;
  cl_int record(const EnqueueKernel& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueCopy& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueCopyRect& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueFill& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueCopyImage& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueCopyImageBuffer& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueFillImage& message, Device& device, RecordedStep& step);
  cl_int record(const EnqueueMarker& message, Device& device, RecordedStep& step);
  template <class Message>
  cl_int record(const RecordedCommand& command, Device& device, std::vector<RecordedStep>& steps, RecordedOrder& order);
  void end_transfer(Transfer& transfer);
  cl_int run_printing(Issue& issue, const std::function<cl_int(Issue&)>& command) EXCLUDES(mutex_);
  void printed(Issue& issue, cl_int error);
  Ref<Program> add_program(ObjectId id, ProgramOrigin origin);
  Ref<Program> existing_program(ObjectId id);
  void stop_if_over() const;
  template <class Message, class Build>
  void with_files(const Message& message, Program& program, Build&& build);
  template <class Build>
  void build_each(const Array<std::uint32_t>& devices, Token token, Program& program, Build&& build);

  const Shared shared_;
  std::atomic<std::chrono::milliseconds> window_{std::chrono::seconds(30)};  // how long the client may be gone
  ResumableConnection* control_stream_ = nullptr;  // of control_; null: it does not break, or may not
  StripeTable stripes_;
  const std::unique_ptr<Connection> control_;
  const std::uint64_t id_;
  const Secret secret_;
  const std::unique_ptr<Grant> grant_;
  const Address address_;  // the client's
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  const Ref<SessionCounters> counters_;
  mutable Mutex client_mutex_;
  Client client_ GUARDED_BY(client_mutex_);
  std::string end_words_ GUARDED_BY(client_mutex_);
  ProcessWatch client_process_ GUARDED_BY(client_mutex_);  // where it runs on this machine
  Outbox outbox_;
  std::vector<std::unique_ptr<BulkChannel>> channels_;               // as many as this side wants
  std::atomic<unsigned> channel_count_{1};                           // of these, in use
  std::atomic<std::chrono::steady_clock::time_point> over_since_{};  // the epoch: it is not over
  std::atomic<bool> trace_hurried_{false};                           // somebody waits for the times of traced commands
  SubDeviceTable sub_devices_;                                       // before everything that may refer to one
  HeldMemory sub_device_memory_{counters_};                          // with the lock
  const Ref<BlockPool> blocks_ = make_ref<BlockPool>();

  Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::map<std::uint32_t, Ref<DeviceTurn>> turns_;  // by the device, parts in its name
  Issuer issuer_;
  std::uint64_t traced_commands_ = 0;  // so far
  ObjectTable<Queue> queues_;
  ObjectTable<Buffer> buffers_;
  std::map<std::uint64_t, Ref<Buffer>> svm_;  // allocations by address; they are in buffers_, too
  std::list<KeptBuffers> letting_go_;         // kept for commands that were sent before their release
  std::unordered_map<TransferId, Ref<TransferProgress>> progress_;
  ObjectTable<Image> images_;
  ObjectTable<Sampler> samplers_;
  ObjectTable<Program> programs_;
  ObjectTable<Kernel> kernels_;
  ObjectTable<CommandBuffer> command_buffers_;
  // Buffers, images and samplers so far: kernel arguments are checked again when it has changed.
  std::uint64_t released_arguments_ = 0;
  const Ref<DriverBacklog> backlog_ = make_ref<DriverBacklog>(counters_);
  HeldMemory tables_{counters_};  // what the tables above, the issuer's and what they name take

  PeerTable peers_{*this};
  StagingPool rings_;
  Worker movers_{16};
  Worker builds_;
  Worker continuations_;
  Worker finishers_{16};
  Worker searchers_{4};
  PrintingPatience printing_patience_;  // of the printing worker, and of who waits for it
  Worker printers_;
};

template <class Message>
cl_int Session::region_of(const Message& message, Region& region) {
  if (message.is_image != 0) {
    Ref<Image> image(images_.find(message.memory));
    if (!image) return CL_INVALID_MEM_OBJECT;
    const Extent whole = image->shape().whole();
    region.size = image->shape().packed_size(whole);
    for (int i = 0; i < 3; ++i) region.extent[i] = whole[i];
    region.image = std::move(image);
    return region.size == message.size && message.offset == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
  }
  Ref<Buffer> buffer(buffers_.find(message.memory));
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  if (message.size == 0 || !buffer->contains(message.offset, message.size)) return CL_INVALID_VALUE;
  region = {std::move(buffer), false, message.offset, message.size};
  return CL_SUCCESS;
}

}  // namespace remotecl::server
