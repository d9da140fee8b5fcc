#include "runtime/client/objects/image_formats.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/client/session/request.h"
#include "runtime/protocol/image_shape.h"

namespace remotecl {
namespace {

struct FormatReply {
  cl_int error;
  std::vector<cl_image_format> formats;
};

using Question = std::tuple<const Device*, cl_mem_flags, cl_mem_object_type>;

CacheCounts g_counts;

Mutex g_replies_mutex;
std::map<Question, std::shared_ptr<const FormatReply>>& replies() REQUIRES(g_replies_mutex) {
  static auto& map = *new std::map<Question, std::shared_ptr<const FormatReply>>;
  return map;
}

// The flags that affect the reply; images on the server have no others.
constexpr cl_mem_flags kAsked = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_KERNEL_READ_AND_WRITE;

FormatReply taken(const ImageFormats& report) {
  FormatReply reply{report.error, {}};
  for (std::size_t i = 0; i + 1 < report.formats.size(); i += 2) {
    const cl_image_format format{report.formats[i], report.formats[i + 1]};
    if (pixel_size(format.image_channel_order, format.image_channel_data_type) != 0) reply.formats.push_back(format);
  }
  return reply;
}

// Leaves those that `others` has, too.
void keep_common(std::vector<cl_image_format>& formats, const std::vector<cl_image_format>& others) {
  std::erase_if(formats, [&](const cl_image_format& format) {
    return std::ranges::none_of(others, [&](const cl_image_format& other) { return same_format(format, other); });
  });
}

cl_int common_formats(const Device& automatic, cl_mem_flags flags, cl_mem_object_type type,
                      std::vector<cl_image_format>& formats) {
  cl_int result = CL_DEVICE_NOT_AVAILABLE;
  for (Device* member : automatic.members()) {
    if (member->lost()) continue;
    std::vector<cl_image_format> own;
    const cl_int error = image_formats(*member, flags, type, own);
    if (error == CL_DEVICE_NOT_AVAILABLE) continue;  // lost just now
    if (error != CL_SUCCESS) return error;
    if (result == CL_SUCCESS) {
      keep_common(formats, own);
    } else {
      formats = std::move(own);
    }
    result = CL_SUCCESS;
  }
  return result;
}

}  // namespace

cl_int image_formats(Device& device, cl_mem_flags flags, cl_mem_object_type type,
                     std::vector<cl_image_format>& formats) {
  if (device.is_automatic()) return common_formats(device, flags, type, formats);
  flags &= kAsked;
  const Question question{&device, flags, type};
  std::shared_ptr<const FormatReply> reply;
  {
    const MutexLock lock(g_replies_mutex);
    const auto at = replies().find(question);
    if (at != replies().end()) reply = at->second;
  }
  ++(reply ? g_counts.hits : g_counts.misses);
  if (!reply) {
    Session& session = device.session();
    auto found = ask<ImageFormats>(
        session,
        [&](Token token) {
          session.send(GetImageFormats{token, device.index(), flags, type});
        },
        &taken);
    if (!found) return CL_DEVICE_NOT_AVAILABLE;
    reply = std::make_shared<const FormatReply>(std::move(*found));
    if (reply->error != CL_DEVICE_NOT_AVAILABLE) {
      const MutexLock lock(g_replies_mutex);
      replies().emplace(question, reply);
    }
  }
  formats = reply->formats;
  return reply->error;
}

void forget_image_formats(const Device& device) {
  const MutexLock lock(g_replies_mutex);
  std::erase_if(replies(), [&device](const auto& reply) { return std::get<0>(reply.first) == &device; });
}

const CacheCounts& image_format_cache() { return g_counts; }

bool has_images(const Device& device) { return device.number<cl_bool>(CL_DEVICE_IMAGE_SUPPORT, CL_FALSE) == CL_TRUE; }

}  // namespace remotecl
