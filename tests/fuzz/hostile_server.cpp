#include "hostile_server.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <poll.h>

#include <array>
#include <cstring>

#include "honest_answers.h"
#include "runtime/handshake/handshake.h"

namespace remotecl::fuzz {
namespace {

constexpr int kSilenceMs = 40;  // of a client that waits for something else

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

// Two devices, of which a client believes everything.
DeviceList usual_devices() {
  struct Storage {
    std::vector<std::vector<std::byte>> values;
    std::vector<InfoValue> info;
    std::vector<DeviceDescription> devices;
    void add(std::uint32_t name, std::vector<std::byte> value) {
      values.push_back(std::move(value));
      info.push_back({name, values.back()});
    }
    void add_text(std::uint32_t name, std::string_view text) {
      std::vector<std::byte> value(text.size() + 1);
      std::memcpy(value.data(), text.data(), text.size());
      add(name, std::move(value));
    }
    Storage() {
      values.reserve(32);
      add(CL_DEVICE_TYPE, bytes_of<cl_device_type>(CL_DEVICE_TYPE_CPU));
      add(CL_DEVICE_HOST_UNIFIED_MEMORY, bytes_of<cl_bool>(CL_TRUE));
      add(CL_DEVICE_ADDRESS_BITS, bytes_of<cl_uint>(64));
      add_text(CL_DEVICE_NAME, "hostile");
      add_text(CL_DEVICE_VERSION, "OpenCL 3.0 hostile");
      add_text(CL_DEVICE_EXTENSIONS, "cl_khr_command_buffer");
      add(CL_DEVICE_AVAILABLE, bytes_of<cl_bool>(CL_TRUE));
      add(CL_DEVICE_IMAGE_SUPPORT, bytes_of<cl_bool>(CL_TRUE));
      add(CL_DEVICE_GLOBAL_MEM_SIZE, bytes_of<cl_ulong>(1u << 30));
      add(CL_DEVICE_MAX_MEM_ALLOC_SIZE, bytes_of<cl_ulong>(1u << 28));
      add(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, bytes_of<cl_uint>(3));
      add(CL_DEVICE_MAX_WORK_GROUP_SIZE, bytes_of<std::size_t>(256));
      add(CL_DEVICE_MAX_WORK_ITEM_SIZES, bytes_of(std::array<std::size_t, 3>{256, 256, 64}));
      add(CL_DEVICE_IMAGE2D_MAX_WIDTH, bytes_of<std::size_t>(1024));
      add(CL_DEVICE_IMAGE2D_MAX_HEIGHT, bytes_of<std::size_t>(1024));
      add(CL_DEVICE_MEM_BASE_ADDR_ALIGN, bytes_of<cl_uint>(1024));
      add(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, bytes_of<cl_command_queue_properties>(3));
      add(CL_DEVICE_SVM_CAPABILITIES, bytes_of<cl_device_svm_capabilities>(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER));
      add(CL_DEVICE_PARTITION_PROPERTIES, bytes_of<cl_device_partition_property>(CL_DEVICE_PARTITION_EQUALLY));
      add(CL_DEVICE_PARTITION_MAX_SUB_DEVICES, bytes_of<cl_uint>(4));
      add(CL_DEVICE_MAX_COMPUTE_UNITS, bytes_of<cl_uint>(4));
      for (std::uint32_t index = 0; index < 2; ++index) {
        devices.push_back({index, {}, std::span<const InfoValue>(info)});
      }
    }
  };
  static const Storage& storage = *new Storage;
  return {std::span<const DeviceDescription>(storage.devices)};
}

}  // namespace

HostileServer::HostileServer() = default;

void HostileServer::serve(std::vector<Record> script, std::uint64_t first_id) {
  script_ = std::move(script);
  next_ = 0;
  first_id_ = first_id;
  honest_ = 0;
  last_read_ = 0;
  said_.clear();
  thread_ = std::thread([this] { run(); });
}

void HostileServer::join() {
  thread_.join();
  control_.reset();
  bulk_.reset();
}

void HostileServer::run() {
  control_ = listener_.accept();
  if (!shake_hands(*control_, Role::kControl)) return control_->shutdown();
  bulk_ = listener_.accept();
  if (!shake_hands(*bulk_, Role::kBulk)) return;
  const bool has_devices = !script_.empty() && script_[0].code == Code::kDeviceList && script_[0].channel != kHonest;
  if (has_devices) next_ = 1;
  say(has_devices ? script_[0] : record_of(usual_devices(), kControlUnawaited), 0);
  listen();
  control_->shutdown();
  bulk_->shutdown();
}

bool HostileServer::shake_hands(Connection& connection, Role role) {
  std::array<std::byte, kHelloSize> bytes;
  if (!connection.read_exactly(bytes)) return false;
  const auto hello = decode_frame<Hello>(bytes);
  Welcome welcome{kMagic, kProtocolVersion, WelcomeStatus::kAccepted, 0, 1, Secret{}, 1, 0, 0};
  if (role == Role::kBulk) welcome.secret = accepting_proof(Secret{}, hello, welcome);
  return connection.write(Bytes(encode_frame<Welcome, kWelcomeSize>(welcome)));
}

void HostileServer::listen() {
  MessageBuffer buffer;
  std::vector<std::byte> ignored(64u << 10);
  for (;;) {
    pollfd waits[2] = {{control_->wait_handle(), POLLIN, 0}, {bulk_->wait_handle(), POLLIN, 0}};
    if (::poll(waits, 2, kSilenceMs) <= 0) return;
    if (waits[1].revents != 0 && bulk_->read_some(ignored) == 0) return;
    if (waits[0].revents == 0) continue;
    const std::size_t count = control_->read_some(buffer.space());
    if (count == 0) return;
    buffer.commit(count);
    std::uint16_t code = 0;
    Bytes payload;
    while (buffer.next(code, payload) == MessageBuffer::Next::kMessage) {
      if (!answer(code, payload)) return;
    }
  }
}

bool HostileServer::answer(std::uint16_t code, Bytes payload) {
  const std::vector<Record> answers = honest_answers(code, payload);
  if (answers.empty()) return true;
  std::uint64_t asked = 0;
  std::memcpy(&asked, answers.back().payload.data(), sizeof asked);
  if (EnqueueRead read{}; code == Code::kEnqueueRead && Decoder(payload).read(read)) last_read_ = read.transfer;
  while (honest_ == 0 && next_ < script_.size()) {
    const Record& record = script_[next_++];
    if (record.channel == kHonest) {
      honest_ = record.code;
    } else {
      if (!say(record, asked)) return false;
      if (record.channel == kControl) return true;
    }
  }
  if (honest_ == 0) return false;
  --honest_;
  return answer_honestly(answers);
}

bool HostileServer::answer_honestly(const std::vector<Record>& answers) {
  for (Record record : answers) {
    std::uint64_t id = 0;
    std::memcpy(&id, record.payload.data(), sizeof id);
    const std::uint64_t asked = id;  // only of the last one, which ends the answer
    if (record.channel != kControl) id -= first_id_;
    std::memcpy(record.payload.data(), &id, sizeof id);
    if (!say(record, asked)) return false;
  }
  return true;
}

bool HostileServer::say(const Record& record, std::uint64_t asked) {
  said_.push_back(record);
  std::vector<std::byte> payload = record.channel == kBulk ? whole_chunk(record) : record.payload;
  if (payload.size() >= sizeof asked && record.channel != kRaw && record.code != Code::kDeviceList) {
    std::uint64_t id = 0;
    std::memcpy(&id, payload.data(), sizeof id);
    if (record.channel == kControl) {
      id = asked;
    } else if (id == 0) {
      id = last_read_;
    } else if (id < kSmallIdMax) {
      id += first_id_;
    }
    std::memcpy(payload.data(), &id, sizeof id);
  }
  if (record.channel == kBulk) return bulk_->write(Bytes(payload));
  if (record.channel == kRaw) return control_->write(Bytes(payload));
  const auto header =
      encode_frame<MessageHeader, kMessageHeaderSize>({static_cast<std::uint32_t>(payload.size()), record.code, 0});
  return control_->write(Bytes(header), payload);
}

}  // namespace remotecl::fuzz
