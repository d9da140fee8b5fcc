#pragma once

#include "runtime/protocol/command_buffer_types.h"

// The entry points of cl_khr_command_buffer 0.9.1. <CL/cl_ext.h> declares those of the version that its release had,
// with other arguments since October 2024; here they are the same whatever headers are installed.
namespace remotecl::icd {

cl_command_buffer_khr CL_API_CALL create_command_buffer(cl_uint num_queues, const cl_command_queue* queues,
                                                        const cl_command_buffer_properties_khr* properties,
                                                        cl_int* errcode_ret);
cl_int CL_API_CALL retain_command_buffer(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL release_command_buffer(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL finalize_command_buffer(cl_command_buffer_khr command_buffer);
cl_int CL_API_CALL enqueue_command_buffer(cl_uint num_queues, cl_command_queue* queues,
                                          cl_command_buffer_khr command_buffer, cl_uint count, const cl_event* list,
                                          cl_event* event);
cl_int CL_API_CALL get_command_buffer_info(cl_command_buffer_khr command_buffer, cl_command_buffer_info_khr name,
                                           size_t size, void* value, size_t* size_ret);
cl_int CL_API_CALL command_barrier(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_uint count,
                                   const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                   cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_copy_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                       cl_mem destination, size_t source_offset, size_t destination_offset, size_t size,
                                       cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                       cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_copy_buffer_rect(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                            cl_mem destination, const size_t* source_origin,
                                            const size_t* destination_origin, const size_t* region,
                                            size_t source_row_pitch, size_t source_slice_pitch,
                                            size_t destination_row_pitch, size_t destination_slice_pitch, cl_uint count,
                                            const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                            cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_fill_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem buffer,
                                       const void* pattern, size_t pattern_size, size_t offset, size_t size,
                                       cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                       cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_nd_range_kernel(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                           const cl_properties* properties, cl_kernel kernel, cl_uint dimensions,
                                           const size_t* offset, const size_t* global, const size_t* local,
                                           cl_uint count, const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                           cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_copy_buffer_to_image(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                                cl_mem source, cl_mem destination, size_t offset, const size_t* origin,
                                                const size_t* region, cl_uint count, const cl_sync_point_khr* list,
                                                cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_copy_image_to_buffer(cl_command_buffer_khr command_buffer, cl_command_queue queue,
                                                cl_mem source, cl_mem destination, const size_t* origin,
                                                const size_t* region, size_t offset, cl_uint count,
                                                const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                                cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_copy_image(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem source,
                                      cl_mem destination, const size_t* source_origin, const size_t* destination_origin,
                                      const size_t* region, cl_uint count, const cl_sync_point_khr* list,
                                      cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL command_fill_image(cl_command_buffer_khr command_buffer, cl_command_queue queue, cl_mem image,
                                      const void* color, const size_t* origin, const size_t* region, cl_uint count,
                                      const cl_sync_point_khr* list, cl_sync_point_khr* sync_point,
                                      cl_mutable_command_khr* mutable_handle);

}  // namespace remotecl::icd
