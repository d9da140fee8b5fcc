#include "server/program/stored_builds.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/includes/directives.h"
#include "server/completion/native.h"
#include "server/program/device_identity.h"
#include "server/program/include_review.h"
#include "server/program/program_builder.h"
#include "server/util/format.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

constexpr std::size_t kTextSizeMax = 16u << 20;
// Included programs are headers in a folder below the client's root, where no client has files.
constexpr std::string_view kIncludedFolder = "/remotecl-included";

struct Encoded {
  DeviceBuild build;
  std::uint8_t prints;
  Bytes binary;
  REMOTECL_FIELDS(build, prints, binary)
};

bool mentions_time(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"__DATE__", "__TIME__", "__TIMESTAMP__"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Returns true if the meaning of the code, options and headers depends on nothing else.
bool is_self_contained(const Program& program, const ClientFiles& sent) {
  std::size_t size = program.code().size() + sent.options.size();
  sent.headers.for_each([&](const HeaderFile& header) { size += header.path.size() + header.content.size(); });
  if (size > kTextSizeMax) return false;
  std::vector<std::string_view> sources;
  if (program.origin() == ProgramOrigin::kSource) sources.emplace_back(program.code());
  bool is_plain = !mentions_time(sent.options) && !may_name_files(sent.options) &&
                  std::none_of(sources.begin(), sources.end(), mentions_time);
  sent.headers.for_each(
      [&](const HeaderFile& header) { is_plain = is_plain && !mentions_time(as_text(header.content)); });
  return is_plain && IncludeReview(sources, sent).names_only_sent();
}

std::set<std::string> names_of(const std::vector<KernelRecord>& kernels) {
  std::set<std::string> names;
  for (const KernelRecord& kernel : kernels) names.insert(kernel.name);
  return names;
}

std::set<std::string> kernel_names(cl_program program) {
  std::set<std::string> names;
  cl_uint count = 0;
  if (clCreateKernelsInProgram(program, 0, nullptr, &count) != CL_SUCCESS || count == 0) return names;
  std::vector<cl_kernel> kernels(count);
  if (clCreateKernelsInProgram(program, count, kernels.data(), nullptr) != CL_SUCCESS) return names;
  for (const cl_kernel kernel : kernels) {
    std::array<char, 1024> name{};
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, name.size() - 1, name.data(), nullptr);
    names.insert(name.data());
    clReleaseKernel(kernel);
  }
  return names;
}

bool is_compiled(const Program& program) {
  return program.origin() == ProgramOrigin::kSource || program.origin() == ProgramOrigin::kIl;
}

// Returns true for what is linked and has no kernels.
bool is_part(const BuildRecord& record) {
  const DeviceBuild& values = record.values;
  const bool is_made = values.error == CL_SUCCESS && values.status == CL_BUILD_SUCCESS && values.executable == 0;
  return is_made && (values.binary_type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT ||
                     values.binary_type == CL_PROGRAM_BINARY_TYPE_LIBRARY);
}

// Null if the driver does not accept the binary.
Native<cl_program> create(Bytes binary, Device& device) {
  cl_int error = CL_SUCCESS, status = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context == nullptr) return {};
  const cl_device_id id = device.id();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  const cl_program created = clCreateProgramWithBinary(context, 1, &id, &size, &bytes, &status, &error);
  if (error != CL_SUCCESS) return {};
  Native<cl_program> program(created);
  if (status != CL_SUCCESS) program.reset();
  return program;
}

void log_refusal(const Device& device) {
  log_info("the driver of {} refuses the stored binary of a program, which is compiled again", device.traits().name);
}

bool builds(cl_program program, cl_device_id device, const std::string& options) {
  cl_build_status status = CL_BUILD_ERROR;
  return clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS &&
         clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof status, &status, nullptr) ==
             CL_SUCCESS &&
         status == CL_BUILD_SUCCESS;
}

}  // namespace

StoredBuilds::StoredBuilds(ContentStore* store, BuildSaver::ReadBinary read_binary)
    : store_(store),
      code_(loaded_code()),
      saver_(store == nullptr ? nullptr : std::make_unique<BuildSaver>(*store, std::move(read_binary))) {}

Digest StoredBuilds::identity(const Device& device) {
  MutexLock lock(mutex_);
  const auto at = identities_.find(&device);
  if (at != identities_.end()) return at->second;
  return identities_.emplace(&device, device_identity(device, code_)).first->second;
}

std::optional<Digest> StoredBuilds::key(const Program& program, const ClientFiles& sent, Device& device) {
  if (!is_compiled(program) || &device != &device.root() || !is_self_contained(program, sent)) return std::nullopt;
  return key_of(device, text_of(program.origin(), program.code(), program.constants(), sent));
}

std::optional<Digest> StoredBuilds::object_key(const Program& program, const ClientFiles& sent,
                                               const std::vector<IncludedSource>& included, Device& device) {
  if (!is_compiled(program) || &device != &device.root()) return std::nullopt;
  std::vector<std::string> paths;
  for (const IncludedSource& source : included) {
    if (source.program->origin() != ProgramOrigin::kSource) return std::nullopt;
    paths.push_back(format_text("{}/{}", kIncludedFolder, source.name));
  }
  std::vector<IncludeFolder> folders;
  std::vector<HeaderFile> headers;
  sent.include_folders.for_each([&folders](const IncludeFolder& folder) { folders.push_back(folder); });
  sent.headers.for_each([&headers](const HeaderFile& header) { headers.push_back(header); });
  if (!included.empty()) folders.push_back({kIncludedFolder});
  for (std::size_t i = 0; i < included.size(); ++i) {
    headers.push_back({paths[i], as_bytes(included[i].program->code())});
  }
  const ClientFiles all{sent.options, std::span<const IncludeFolder>(folders), std::span<const HeaderFile>(headers)};
  if (!is_self_contained(program, all)) return std::nullopt;
  std::string text;
  add_part(text, "object 2");
  add_part(text, std::to_string(included.size()));
  return key_of(device, text + text_of(program.origin(), program.code(), program.constants(), all));
}

std::optional<Digest> StoredBuilds::link_key(std::string_view options, const std::vector<std::optional<Digest>>& inputs,
                                             Device& device) {
  if (&device != &device.root() || mentions_time(options) || may_name_files(options)) return std::nullopt;
  std::string text;
  add_part(text, "link 1");
  add_part(text, options);
  for (const std::optional<Digest>& input : inputs) {
    if (!input) return std::nullopt;
    add_part(text, as_text(std::as_bytes(std::span(*input))));
  }
  return key_of(device, text);
}

Digest StoredBuilds::binary_key(Bytes binary) {
  std::string text;
  add_part(text, "binary 1");
  add_part(text, as_text(binary));
  return sha256(as_bytes(text));
}

Digest StoredBuilds::key_of(const Device& device, std::string_view text) {
  const Digest on = identity(device);
  return sha256(as_bytes(std::string(as_text(std::as_bytes(std::span(on)))).append(text)));
}

std::string StoredBuilds::text_of(ProgramOrigin origin, std::string_view code, const Constants& constants,
                                  const ClientFiles& sent) {
  std::string text;
  add_part(text, "program 2");
  add_part(text, origin == ProgramOrigin::kIl ? "IL" : "source");
  add_part(text, code);
  add_part(text, std::to_string(constants.size()));
  for (const auto& [constant, value] : constants) {
    add_part(text, std::to_string(constant));
    add_part(text, value);
  }
  add_part(text, sent.options);
  add_part(text, std::to_string(sent.include_folders.size()));
  sent.include_folders.for_each([&text](const IncludeFolder& folder) { add_part(text, folder.path); });
  sent.headers.for_each([&text](const HeaderFile& header) {
    add_part(text, header.path);
    add_part(text, as_text(header.content));
  });
  return text;
}

std::vector<std::byte> StoredBuilds::find(const std::string& owner, const Digest& key) {
  auto stored = store_ == nullptr ? std::nullopt : store_->find(owner, key);
  return stored ? *std::move(stored) : std::vector<std::byte>();
}

cl_program StoredBuilds::load(Bytes entry, Device& device, const std::string& options, BuildRecord& record) {
  Bytes binary;
  BuildRecord found;
  if (!decode(entry, found, binary) || binary.empty()) return nullptr;
  Native<cl_program> program = create(binary, device);
  if (!program || !builds(program.get(), device.id(), options) ||
      kernel_names(program.get()) != names_of(found.kernels)) {
    log_refusal(device);
    return nullptr;
  }
  found.values.device = device.index();
  record = std::move(found);
  if (saver_ != nullptr) saver_->note_activity();
  return program.detach();
}

cl_program StoredBuilds::load_part(Bytes entry, Device& device, cl_program_binary_type type, BuildRecord& record,
                                   std::vector<std::byte>& binary) {
  Bytes stored;
  BuildRecord found;
  if (!decode(entry, found, stored) || stored.empty() || !is_part(found) || found.values.binary_type != type) {
    return nullptr;
  }
  Native<cl_program> program = create(stored, device);
  if (!program || binary_type(program.get(), device.id()) != type) {
    log_refusal(device);
    return nullptr;
  }
  found.values.device = device.index();
  record = std::move(found);
  binary.assign(stored.begin(), stored.end());
  return program.detach();
}

bool StoredBuilds::may_be_kept(const BuildRecord& record) {
  const DeviceBuild& values = record.values;
  if (values.executable == 0 || record.kernels.empty()) return false;
  // Some drivers' binaries may lack the initial values of variables and the code that runs before kernels.
  return values.global_variables_size == 0 && values.has_constructors == 0 && values.has_destructors == 0;
}

std::shared_ptr<UnusedKernels> StoredBuilds::keep(const std::string& owner, const Digest& key, const Device& device,
                                                  cl_program program, const BuildRecord& record) {
  if (saver_ == nullptr || (!may_be_kept(record) && !is_part(record))) return nullptr;
  std::shared_ptr<UnusedKernels> unused;
  if (device.traits().quirks.compiles_for_binary) {
    unused = std::make_shared<UnusedKernels>(record.kernels, [this] { saver_->note_activity(); });
  }
  saver_->add({owner, key, program, record, unused});
  return unused;
}

std::vector<std::byte> StoredBuilds::encode(const BuildRecord& record, Bytes binary) {
  const std::vector<BuildRecord> one{record};
  const BuildDescriptions descriptions(one);
  const Encoded encoded{descriptions.builds().front(), record.prints, binary};
  std::vector<std::byte> bytes(wire::encoded_size(encoded));
  std::byte* at = bytes.data();
  wire::encode(at, encoded);
  return bytes;
}

bool StoredBuilds::decode(Bytes bytes, BuildRecord& record, Bytes& binary) {
  Encoded encoded{};
  Decoder decoder(bytes);
  if (!decoder.read(encoded) || !decoder.at_end()) return false;
  record = record_of(encoded.build);
  record.prints = encoded.prints != 0;
  binary = encoded.binary;
  return true;
}

}  // namespace remotecl::server
