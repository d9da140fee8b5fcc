/* The driver that pyopencl/.libs/remotecl.icd names. All it has comes from libremotecl.so, which it depends on:
 * a loader looks symbols up in a driver's dependencies too.
 *
 * Only the list of platforms is its own. PyOpenCL's loader reads a vendors directory first and pyopencl/.libs
 * after it, and lists a driver that is named in both twice. So this one has no platform where the vendors directory
 * has a remotecl.icd. */
#define _GNU_SOURCE
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef cl_int (*platform_ids_fn)(cl_uint, cl_platform_id*, cl_uint*);
typedef void* (*extension_fn)(const char*);

/* A function of libremotecl.so. The library is loaded already, so this finds the one instance in the process. */
static void* implementation(const char* name) {
  void* library = dlopen("libremotecl.so", RTLD_LAZY | RTLD_LOCAL);
  void* function = library ? dlsym(library, name) : NULL;
  if (library) dlclose(library);
  return function;
}

static const char* set_variable(const char* name) {
  const char* value = getenv(name);
  return value && *value ? value : NULL;
}

static int listed_in_vendors_directory(void) {
  const char* directory = set_variable("OCL_ICD_VENDORS");
  if (!directory) directory = set_variable("OPENCL_VENDOR_PATH");
  if (!directory) directory = "/etc/OpenCL/vendors";
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/remotecl.icd", directory);
  return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint num_entries, cl_platform_id* platforms, cl_uint* num_platforms) {
  const platform_ids_fn get_platforms = (platform_ids_fn)implementation("clIcdGetPlatformIDsKHR");
  if (get_platforms && !listed_in_vendors_directory()) {
    return get_platforms(num_entries, platforms, num_platforms);
  }
  if (num_platforms) *num_platforms = 0;
  return CL_PLATFORM_NOT_FOUND_KHR;
}

EXPORT void* clGetExtensionFunctionAddress(const char* name) {
  if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return (void*)clIcdGetPlatformIDsKHR;
  const extension_fn get_address = (extension_fn)implementation("clGetExtensionFunctionAddress");
  return get_address ? get_address(name) : NULL;
}
