#include "icd/info.h"
#include "runtime/client/objects/image_formats.h"
#include "runtime/client/objects/sampler.h"

#include <algorithm>

namespace {

using namespace remotecl;
using icd::InfoSink;
using icd::object;
using icd::require;

cl_sampler make_sampler(cl_context context, const SamplerState& state, std::vector<cl_sampler_properties> properties) {
  Context& in = object<Context>(context);
  // "CL_INVALID_VALUE if addressing_mode, filter_mode, normalized_coords, or a combination of these arguments are not
  // valid."
  require(state.normalized_coordinates == CL_TRUE || state.normalized_coordinates == CL_FALSE, CL_INVALID_VALUE);
  require(state.addressing >= CL_ADDRESS_NONE && state.addressing <= CL_ADDRESS_MIRRORED_REPEAT, CL_INVALID_VALUE);
  // CL_ADDRESS_REPEAT and CL_ADDRESS_MIRRORED_REPEAT "can only be used with normalized coordinates".
  require(state.normalized_coordinates == CL_TRUE || state.addressing < CL_ADDRESS_REPEAT, CL_INVALID_VALUE);
  require(state.filter == CL_FILTER_NEAREST || state.filter == CL_FILTER_LINEAR, CL_INVALID_VALUE);
  // "CL_INVALID_OPERATION if images are not supported by any device associated with context."
  const auto& devices = in.devices();
  require(std::any_of(devices.begin(), devices.end(), [](Device* device) { return has_images(*device); }),
          CL_INVALID_OPERATION);
  return make_ref<Sampler>(Ref<Context>(&in), state, std::move(properties)).detach()->handle();
}

const icd::InfoRow<Sampler> kSamplerInfo[] = {
    {CL_SAMPLER_REFERENCE_COUNT, [](Sampler& s, const InfoSink& sink) { sink.value(s.handle_count()); }},
    {CL_SAMPLER_CONTEXT, [](Sampler& s, const InfoSink& sink) { sink.value(s.context().handle()); }},
    {CL_SAMPLER_NORMALIZED_COORDS,
     [](Sampler& s, const InfoSink& sink) { sink.value(s.state().normalized_coordinates); }},
    {CL_SAMPLER_ADDRESSING_MODE, [](Sampler& s, const InfoSink& sink) { sink.value(s.state().addressing); }},
    {CL_SAMPLER_FILTER_MODE, [](Sampler& s, const InfoSink& sink) { sink.value(s.state().filter); }},
    {CL_SAMPLER_PROPERTIES, [](Sampler& s, const InfoSink& sink) { sink.list(s.properties()); }},
};

}  // namespace

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized_coordinates,
                                                    cl_addressing_mode addressing, cl_filter_mode filter,
                                                    cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    return make_sampler(context, {normalized_coordinates, addressing, filter}, {});
  });
}

CL_API_ENTRY cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context,
                                                                  const cl_sampler_properties* properties,
                                                                  cl_int* errcode_ret) {
  return icd::create(errcode_ret, [&] {
    object<Context>(context);
    SamplerState state;
    std::vector<cl_sampler_properties> list;
    std::vector<cl_sampler_properties> seen;
    for (const auto* at = properties; at != nullptr && *at != 0; at += 2) {
      // "CL_INVALID_VALUE if the property name in sampler_properties is not a supported property name, if the value
      // specified for a supported property name is not valid, or if the same property name is specified more than
      // once."
      require(std::find(seen.begin(), seen.end(), at[0]) == seen.end(), CL_INVALID_VALUE);
      seen.push_back(at[0]);
      list.insert(list.end(), {at[0], at[1]});
      switch (at[0]) {
        case CL_SAMPLER_NORMALIZED_COORDS:
          state.normalized_coordinates = static_cast<cl_bool>(at[1]);
          break;
        case CL_SAMPLER_ADDRESSING_MODE:
          state.addressing = static_cast<cl_addressing_mode>(at[1]);
          break;
        case CL_SAMPLER_FILTER_MODE:
          state.filter = static_cast<cl_filter_mode>(at[1]);
          break;
        default:
          throw icd::ApiError{CL_INVALID_VALUE};
      }
    }
    if (properties != nullptr) list.push_back(0);
    return make_sampler(context, state, std::move(list));
  });
}

CL_API_ENTRY cl_int CL_API_CALL clRetainSampler(cl_sampler sampler) { return icd::retain<Sampler>(sampler); }
CL_API_ENTRY cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler) { return icd::release<Sampler>(sampler); }

CL_API_ENTRY cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler, cl_sampler_info name, size_t size, void* value,
                                                 size_t* size_ret) {
  return icd::enter(
      [&] { icd::answer(kSamplerInfo, object<Sampler>(sampler), name, InfoSink(size, value, size_ret)); });
}
