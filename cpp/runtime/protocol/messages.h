#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/protocol/codec.h"
#include "runtime/protocol/message_codes.h"

// The messages of the control connection. Ids of objects and events are chosen by the client, unique within the
// session, never 0 and never reused. PROTOCOL.md says what each message means.
namespace remotecl {

using ObjectId = std::uint64_t;
using EventId = std::uint64_t;
using TransferId = std::uint64_t;
using Token = std::uint64_t;
using Extent = std::array<std::uint64_t, 3>;

#define REMOTECL_MESSAGE(name) static constexpr std::uint16_t kCode = Code::k##name

// ---- session -------------------------------------------------------------------------------------------------------

struct Ping {
  REMOTECL_MESSAGE(Ping);
  Token token;
  REMOTECL_FIELDS(token)
};
struct Pong {
  REMOTECL_MESSAGE(Pong);
  Token token;
  REMOTECL_FIELDS(token)
};
// The server's last words before it closes a session: the client broke the protocol or the server is going away.
struct SessionError {
  REMOTECL_MESSAGE(SessionError);
  std::string_view text;
  REMOTECL_FIELDS(text)
};

// One answer of the native clGetDeviceInfo / clGetPlatformInfo, byte for byte.
struct InfoValue {
  std::uint32_t name;
  Bytes value;
  REMOTECL_FIELDS(name, value)
};
struct DeviceDescription {
  std::uint32_t index;  // names the device in all other messages
  Sequence<InfoValue> platform_info;
  Sequence<InfoValue> info;
  REMOTECL_FIELDS(index, platform_info, info)
};
// The first message of a session, unasked.
struct DeviceList {
  REMOTECL_MESSAGE(DeviceList);
  Sequence<DeviceDescription> devices;
  REMOTECL_FIELDS(devices)
};

// ---- queues and buffers --------------------------------------------------------------------------------------------

struct CreateQueue {
  REMOTECL_MESSAGE(CreateQueue);
  ObjectId queue;
  std::uint32_t device;
  std::uint64_t properties;  // cl_command_queue_properties
  REMOTECL_FIELDS(queue, device, properties)
};
struct ReleaseQueue {
  REMOTECL_MESSAGE(ReleaseQueue);
  ObjectId queue;
  REMOTECL_FIELDS(queue)
};
struct CreateBuffer {
  REMOTECL_MESSAGE(CreateBuffer);
  ObjectId buffer;
  std::uint64_t flags;  // cl_mem_flags without those that name host memory
  std::uint64_t size;
  REMOTECL_FIELDS(buffer, flags, size)
};
struct CreateSubBuffer {
  REMOTECL_MESSAGE(CreateSubBuffer);
  ObjectId buffer;
  ObjectId parent;
  std::uint64_t flags;
  std::uint64_t offset;
  std::uint64_t size;
  REMOTECL_FIELDS(buffer, parent, flags, offset, size)
};
struct ReleaseBuffer {
  REMOTECL_MESSAGE(ReleaseBuffer);
  ObjectId buffer;
  REMOTECL_FIELDS(buffer)
};

// ---- programs and kernels ------------------------------------------------------------------------------------------

struct CreateProgramWithSource {
  REMOTECL_MESSAGE(CreateProgramWithSource);
  ObjectId program;
  Bytes source;
  REMOTECL_FIELDS(program, source)
};
struct CreateProgramWithBinary {
  REMOTECL_MESSAGE(CreateProgramWithBinary);
  ObjectId program;
  std::uint32_t device;
  Bytes binary;
  REMOTECL_FIELDS(program, device, binary)
};
// A file of the client's machine that the sources may include, under its absolute path there.
struct HeaderFile {
  std::string_view path;
  Bytes content;
  REMOTECL_FIELDS(path, content)
};
struct IncludeFolder {
  std::string_view path;
  REMOTECL_FIELDS(path)
};
struct BuildProgram {
  REMOTECL_MESSAGE(BuildProgram);
  ObjectId program;
  Token token;
  Array<std::uint32_t> devices;
  std::string_view options;  // the application's, without its -I
  Sequence<IncludeFolder> include_folders;
  Sequence<HeaderFile> headers;
  REMOTECL_FIELDS(program, token, devices, options, include_folders, headers)
};

enum class ArgumentKind : std::uint32_t { kValue = 0, kMemory = 1, kLocal = 2, kOther = 3 };

struct ArgumentDescription {
  ArgumentKind kind;
  std::uint32_t size;         // bytes of a value argument, 0 when the driver does not tell
  std::int32_t info_status;   // what clGetKernelArgInfo answers natively: CL_SUCCESS or its error
  std::uint32_t address_qualifier;
  std::uint32_t access_qualifier;
  std::uint64_t type_qualifier;
  std::string_view type_name;
  std::string_view name;
  REMOTECL_FIELDS(kind, size, info_status, address_qualifier, access_qualifier, type_qualifier, type_name, name)
};
struct KernelDescription {
  std::string_view name;
  std::string_view attributes;
  std::uint64_t work_group_size;
  Extent compile_work_group_size;
  std::uint64_t local_memory_size;  // of the kernel itself, without its __local arguments
  std::uint64_t preferred_multiple;
  std::uint64_t private_memory_size;
  Sequence<ArgumentDescription> arguments;
  REMOTECL_FIELDS(name, attributes, work_group_size, compile_work_group_size, local_memory_size, preferred_multiple,
                  private_memory_size, arguments)
};
struct DeviceBuild {
  std::uint32_t device;
  std::int32_t error;   // what clBuildProgram answered for this device
  std::int32_t status;  // cl_build_status
  std::uint32_t binary_type;
  std::uint64_t binary_size;
  std::string_view log;
  Sequence<KernelDescription> kernels;
  REMOTECL_FIELDS(device, error, status, binary_type, binary_size, log, kernels)
};
struct BuildDone {
  REMOTECL_MESSAGE(BuildDone);
  Token token;
  Sequence<DeviceBuild> builds;
  REMOTECL_FIELDS(token, builds)
};
struct GetProgramBinary {
  REMOTECL_MESSAGE(GetProgramBinary);
  ObjectId program;
  std::uint32_t device;
  Token token;
  REMOTECL_FIELDS(program, device, token)
};
struct ProgramBinary {
  REMOTECL_MESSAGE(ProgramBinary);
  Token token;
  std::int32_t error;
  Bytes binary;
  REMOTECL_FIELDS(token, error, binary)
};
struct ReleaseProgram {
  REMOTECL_MESSAGE(ReleaseProgram);
  ObjectId program;
  REMOTECL_FIELDS(program)
};
struct CreateKernel {
  REMOTECL_MESSAGE(CreateKernel);
  ObjectId kernel;
  ObjectId program;
  std::string_view name;
  REMOTECL_FIELDS(kernel, program, name)
};
struct ReleaseKernel {
  REMOTECL_MESSAGE(ReleaseKernel);
  ObjectId kernel;
  REMOTECL_FIELDS(kernel)
};

// ---- commands ------------------------------------------------------------------------------------------------------
// Each names its queue, its event (0: nobody asked for one) and the events that it waits for.

struct KernelArgument {
  std::uint32_t index;
  ArgumentKind kind;
  std::uint64_t number;  // kMemory: the buffer's id, 0 for NULL; kLocal: bytes
  Bytes value;           // kValue
  REMOTECL_FIELDS(index, kind, number, value)
};
struct EnqueueKernel {
  REMOTECL_MESSAGE(EnqueueKernel);
  ObjectId queue;
  EventId event;
  ObjectId kernel;
  std::uint32_t dimensions;
  std::uint32_t has_local;  // 0: the native driver chooses the work-group size
  Extent offset;
  Extent global;
  Extent local;
  Sequence<KernelArgument> arguments;  // those that changed since the kernel's last command on this device
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, kernel, dimensions, has_local, offset, global, local, arguments, wait_list)
};
struct EnqueueRead {
  REMOTECL_MESSAGE(EnqueueRead);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, offset, size, transfer, wait_list)
};
struct EnqueueWrite {
  REMOTECL_MESSAGE(EnqueueWrite);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  TransferId transfer;  // 0: the data is in `data`; else the server pulls it
  Bytes data;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, offset, size, transfer, data, wait_list)
};
// Rectangles travel packed: region[0] * region[1] * region[2] bytes, whatever the pitches of either side.
struct EnqueueReadRect {
  REMOTECL_MESSAGE(EnqueueReadRect);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  Extent origin;
  Extent region;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  TransferId transfer;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, origin, region, row_pitch, slice_pitch, transfer, wait_list)
};
struct EnqueueWriteRect {
  REMOTECL_MESSAGE(EnqueueWriteRect);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  Extent origin;
  Extent region;
  std::uint64_t row_pitch;
  std::uint64_t slice_pitch;
  TransferId transfer;
  Bytes data;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, origin, region, row_pitch, slice_pitch, transfer, data, wait_list)
};
struct EnqueueCopy {
  REMOTECL_MESSAGE(EnqueueCopy);
  ObjectId queue;
  EventId event;
  ObjectId source;
  ObjectId destination;
  std::uint64_t source_offset;
  std::uint64_t destination_offset;
  std::uint64_t size;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, source, destination, source_offset, destination_offset, size, wait_list)
};
struct EnqueueCopyRect {
  REMOTECL_MESSAGE(EnqueueCopyRect);
  ObjectId queue;
  EventId event;
  ObjectId source;
  ObjectId destination;
  Extent source_origin;
  Extent destination_origin;
  Extent region;
  std::uint64_t source_row_pitch;
  std::uint64_t source_slice_pitch;
  std::uint64_t destination_row_pitch;
  std::uint64_t destination_slice_pitch;
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, source, destination, source_origin, destination_origin, region, source_row_pitch,
                  source_slice_pitch, destination_row_pitch, destination_slice_pitch, wait_list)
};
struct EnqueueFill {
  REMOTECL_MESSAGE(EnqueueFill);
  ObjectId queue;
  EventId event;
  ObjectId buffer;
  std::uint64_t offset;
  std::uint64_t size;
  Bytes pattern;  // 1, 2, 4, ... 128 bytes
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, buffer, offset, size, pattern, wait_list)
};
struct EnqueueMarker {
  REMOTECL_MESSAGE(EnqueueMarker);
  ObjectId queue;
  EventId event;
  std::uint32_t is_barrier;    // later commands of the queue wait for it
  std::uint32_t waits_for_all; // for every earlier command of the queue; else for wait_list
  Array<EventId> wait_list;
  REMOTECL_FIELDS(queue, event, is_barrier, waits_for_all, wait_list)
};

// ---- completion ----------------------------------------------------------------------------------------------------

// Answered by Finished once every earlier command of the queue has ended.
struct Finish {
  REMOTECL_MESSAGE(Finish);
  ObjectId queue;
  Token token;
  REMOTECL_FIELDS(queue, token)
};
struct Finished {
  REMOTECL_MESSAGE(Finished);
  Token token;
  REMOTECL_FIELDS(token)
};
// Asks for one EventDone when the event ends. Reads, and writes that are pulled, report without being asked.
struct ObserveEvent {
  REMOTECL_MESSAGE(ObserveEvent);
  EventId event;
  REMOTECL_FIELDS(event)
};
struct EventDone {
  REMOTECL_MESSAGE(EventDone);
  EventId event;
  std::int32_t status;  // CL_COMPLETE or a negative error
  std::uint32_t has_profile;
  std::array<std::uint64_t, 4> profile;  // queued, submit, start, end in ns of the device's clock
  REMOTECL_FIELDS(event, status, has_profile, profile)
};
// A command failed after it was accepted; sent when it happens, before any Finished of its queue.
struct CommandFailed {
  REMOTECL_MESSAGE(CommandFailed);
  ObjectId queue;
  EventId event;
  std::int32_t status;
  TransferId transfer = 0;  // of the command, if it had one: nothing (more) will move
  REMOTECL_FIELDS(queue, event, status, transfer)
};
// The client will not name the event again.
struct ReleaseEvent {
  REMOTECL_MESSAGE(ReleaseEvent);
  EventId event;
  REMOTECL_FIELDS(event)
};
// An event that ends elsewhere (user event, other server): later wait lists may name it, SignalEvent ends it.
struct ExpectEvent {
  REMOTECL_MESSAGE(ExpectEvent);
  EventId event;
  REMOTECL_FIELDS(event)
};
struct SignalEvent {
  REMOTECL_MESSAGE(SignalEvent);
  EventId event;
  std::int32_t status;
  REMOTECL_FIELDS(event, status)
};

// The bytes of a read of at most kInlineDataMax bytes.
struct ReadData {
  REMOTECL_MESSAGE(ReadData);
  TransferId transfer;
  Bytes data;
  REMOTECL_FIELDS(transfer, data)
};
// The server is ready for the bytes of a write: the client sends them on the bulk connection.
struct PullTransfer {
  REMOTECL_MESSAGE(PullTransfer);
  TransferId transfer;
  REMOTECL_FIELDS(transfer)
};

#undef REMOTECL_MESSAGE

}  // namespace remotecl
