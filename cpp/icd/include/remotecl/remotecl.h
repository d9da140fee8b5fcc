/* remotecl's own C interface, in addition to OpenCL's. libremotecl.so, which is also the ICD, exports it, so
 * that its users share the connections of the OpenCL program in the same process.
 * Any thread may call all functions. Returned strings are JSON in UTF-8; free them with remotecl_free(). */
#ifndef REMOTECL_REMOTECL_H
#define REMOTECL_REMOTECL_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMOTECL_EXPORT __attribute__((visibility("default")))

/* clGetDeviceInfo: char[], "host:port" of the device's server. */
#define CL_DEVICE_REMOTECL_SERVER 0x5243C001
/* clGetDeviceInfo: char[], name of the device's native platform on its server. */
#define CL_DEVICE_REMOTECL_PLATFORM 0x5243C002
/* clGetDeviceInfo: cl_uint, number of connections for bulk data to and from that server; 0: shared memory. */
#define CL_DEVICE_REMOTECL_BULK_STREAMS 0x5243C003
/* clGetDeviceInfo: cl_bool, whether kernels can have sockets there: remotecl_create_network. */
#define CL_DEVICE_REMOTECL_KERNEL_SOCKETS 0x5243C007

/* Version of this library, "major.minor.patch". */
REMOTECL_EXPORT const char* remotecl_version(void);

/* Version of the protocol that this library speaks; a server must speak the same. */
REMOTECL_EXPORT unsigned remotecl_protocol_version(void);

/* Adds servers ("host[:port]", comma separated; default port 10990) and connects to them now.
 * Returns 0, or -1 with *error set to a JSON string (free it) that says which server failed, why, and the remedy.
 * May be called at any time; clGetDeviceIDs then finds more devices. Skips servers that are connected already.
 * The devices of a server that was lost and has returned are new ones, in place of the lost ones. */
REMOTECL_EXPORT int remotecl_connect(const char* servers, char** error);

/* The platform's handle, or NULL if no server is configured. It works with any loader, even one that did not
 * find this ICD, because loaders call through the handle. */
REMOTECL_EXPORT cl_platform_id remotecl_platform(void);

/* The caller is about to stop this server ("host:port" as in remotecl_servers_json). Its loss is not reported on
 * stderr. */
REMOTECL_EXPORT void remotecl_expect_shutdown(const char* address);

/* Ends the connection to a server ("host[:port]"). clGetDeviceIDs no longer finds its devices, commands that
 * have not ended fail, and data that only this server held is lost. Returns 0, or -1 with *error set as above if it
 * is not connected. */
REMOTECL_EXPORT int remotecl_disconnect(const char* server, char** error);

/* For programs whose waits must be interruptible, like Python's by Ctrl-C. From now on, blocking calls of this
 * thread return once this much time has passed, counted from here, with CL_SUCCESS although their command goes on.
 * This holds for clFinish, clWaitForEvents, and reads, writes and mappings that return an event. With 0 they wait
 * without a limit. Returns what has happened to such calls since the last time, as bits:
 * REMOTECL_WAIT_OVER: the time had passed. Wait for the event, or call clFinish or clWaitForEvents again; memory that
 *   was passed to the call stays in use until then.
 * REMOTECL_WRITE_GOES_ON: a write has not ended, but no longer needs its memory. */
#define REMOTECL_WAIT_OVER 1
#define REMOTECL_WRITE_GOES_ON 2
REMOTECL_EXPORT unsigned remotecl_limit_waits(uint64_t nanoseconds);

/* Begins to link all servers of a context with each other, so that remotecl_stats_json shows who can reach whom.
 * Without this, two servers are linked when they first need it. Returns an OpenCL error code. */
REMOTECL_EXPORT cl_int remotecl_link_servers(cl_context context);

/* Whether an event of remotecl's has ended, as far as this process knows; makes no request. 1 for other handles. */
REMOTECL_EXPORT int remotecl_has_ended(cl_event event);

/* [{"address","name": with its options, as for remotecl_connect,"status":"connected"|"lost"|"unreachable","error",
 *   "devices":[names],"round_trip_us","epoch": as remotecl_monitor_status_json has it; none if unreachable}] */
REMOTECL_EXPORT char* remotecl_servers_json(void);

/* Statistics of this process since it connected. Makes no request.
 * {"servers":[{"address","bytes_sent","bytes_received","messages_sent","messages_received","traffic":TRAFFIC,
 *    "rdma":RDMA}],
 *  "links":[{"servers":[address,address],"state":"connected"|"connecting"|"failed"|"none","reason"}],
 *  "transfers":{"saved"|"from_host"|"found"|"between_servers"|"within_server"|"through_client":{"count","bytes"}},
 *  "caches":{"image_formats":{"hits","misses"}},
 *  "placements":[{"server","device","kernels": that the automatic device has placed there}]}
 * TRAFFIC: {"control"|"bulk":{"sent"|"received":{"bytes","messages"}},"compressed":{"sent"|"received":{"before",
 * "after"}}}; bulk connections count whole transfers as messages, and their bytes after compression. RDMA:
 * {"state":"off"|"unavailable"|"connecting"|"in use"|"lost","reason","port","address","peer_address", "channels":
 * now,"losses","bytes_sent","bytes_received": by RDMA,"tcp_bytes_sent","tcp_bytes_received": the rest of
 * bulk,"bytes_copied" by processors and "system_calls": what RDMA has cost this process; not in a status}. Links are
 * between servers that share a context; without a link, data between the two goes through this process. Transfers count
 * the ranges of bytes that commands read: those that their device had already (saved), and those that had to be
 * transferred. Of bytes from this process, chunks that the server had already are "found". */
REMOTECL_EXPORT char* remotecl_stats_json(void);

/* For one buffer (or every live buffer if mem is NULL):
 * [{"buffer": handle as integer, "size",
 *   "places":[{"name":"host"|"server/device name","device": handle as integer, 0 for the host}],
 *   "ranges":[{"offset","size","version","holders":[names],
 *              "states":["newest"|"arriving"|"stale"|"lost"|"undefined", one per place]}]}]
 * "newest": holds this version, or will once the commands enqueued so far have ended; "arriving": this version is
 * being transferred there; "stale": holds an older version or nothing; "lost": held it, but its server is lost;
 * "undefined": these bytes were never written (version 0), or a migration has declared them undefined. */
REMOTECL_EXPORT char* remotecl_residency_json(cl_mem mem);

/* clSetContentSizeBufferPoCL (cl_pocl_content_size) for programs without its function pointer. The first 8 bytes of
 * `content_size_buffer`, a cl_ulong, say how many bytes at the beginning of `buffer` are worth sending. NULL detaches
 * it again, which the extension cannot do. Returns an OpenCL error code. */
REMOTECL_EXPORT cl_int remotecl_set_content_size(cl_mem buffer, cl_mem content_size_buffer);

/* clEnqueueMigrateMemObjects without a queue: transfers the newest version of `objects`, all of one context, to
 * `device` while queues go on. It comes after the commands that were enqueued to write them, and waits for
 * `wait_list`. The event, which may be NULL, has no queue. Returns an OpenCL error code. */
REMOTECL_EXPORT cl_int remotecl_prefetch(cl_device_id device, cl_uint count, const cl_mem* objects, cl_uint wait_count,
                                         const cl_event* wait_list, cl_event* event);

/* A network: memory through which kernels of one device have sockets of that device's server, by the functions of
 * `#include "remotecl/net.cl"`, which the server provides. Pass it to kernels as an argument `__global rcl_net*`; no
 * other command can use it. clReleaseMemObject releases it, which does not end a kernel that uses it.
 * `properties`: NULL, or with struct_size set; 0 stands for the default.
 * Errors, each with a line on stderr: CL_INVALID_OPERATION if kernels have no sockets there
 * (CL_DEVICE_REMOTECL_KERNEL_SOCKETS), CL_INVALID_VALUE for numbers that a network cannot have,
 * CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES if the session has too many. */
typedef struct remotecl_network_properties {
  size_t struct_size; /* sizeof(remotecl_network_properties) */
  cl_uint sockets;    /* that its kernels can have at once: 1 to 16384, by default 64 */
  cl_uint ring_bytes; /* that wait in each direction of a socket: a power of two, 1 KiB to 16 MiB; by default as many
                       * as make 64 MiB for all sockets, but not below 64 KiB and not above 1 MiB */
} remotecl_network_properties;
REMOTECL_EXPORT cl_mem remotecl_create_network(cl_context context, cl_device_id device,
                                               const remotecl_network_properties* properties, cl_int* error);

/* Closes the sockets of a network permanently. Kernels that wait for one get -ECANCELED within a second, and so does
 * every later call, so that persistent kernels end. The end of the session does the same. CL_INVALID_MEM_OBJECT if it
 * is no network. */
REMOTECL_EXPORT cl_int remotecl_stop_network(cl_mem network);

/* How many work-groups of a kernel the device is sure to run at once. With more, those that have begun must end before
 * others begin, so a kernel whose work-groups wait for each other must not have more. */
REMOTECL_EXPORT cl_int remotecl_network_groups(cl_device_id device, size_t* groups);

/* Which bytes of an argument's buffer a work-item touches, when a kernel is divided: the item with the global id i in
 * the divided dimension touches item_bytes bytes, from i * item_bytes on. */
typedef struct remotecl_slice {
  cl_uint argument;
  cl_uint overwrites;     /* 1: the kernel writes all bytes of these items and reads none */
  uint64_t item_bytes;    /* at least 1 */
  uint64_t before, after; /* it also reads this many items before and after; 0 if the kernel may write the buffer */
} remotecl_slice;

/* clEnqueueNDRangeKernel on several queues of one context, each for another device (one on the automatic device
 * stands for all its members): divides the range along
 * `dimension` (0 to work_dimensions - 1) in pieces that follow the speeds of the devices as measured while it runs.
 * Every buffer that the kernel may write needs a slice; buffers without one are only read, as a whole. A piece is a
 * launch with an offset of its own, so only get_global_id() returns the same as without the division; the kernel must
 * not depend on the ids of groups or on the range's size. Atomic operations see the device's own copy.
 *
 * Returns when all pieces have been enqueued, shortly before the last ones end. Later commands of these queues come
 * after them. The event ends with the last piece. Errors are those of clEnqueueNDRangeKernel, and:
 * CL_INVALID_VALUE: no queue, no such dimension, items without bytes, or neighbours of a buffer that the kernel may
 * write; CL_INVALID_ARG_INDEX: a slice names no argument, or two name the same one; CL_INVALID_ARG_VALUE: the argument
 * of a slice is no buffer; CL_INVALID_OPERATION: the kernel may write memory for which there is no slice; or the error
 * of a piece that failed: then no others begin, those that have begun have ended, and what the kernel writes is
 * undefined. */
REMOTECL_EXPORT cl_int remotecl_enqueue_split(cl_uint queue_count, const cl_command_queue* queues, cl_kernel kernel,
                                              cl_uint dimension, cl_uint work_dimensions, const size_t* offset,
                                              const size_t* global, const size_t* local, cl_uint slice_count,
                                              const remotecl_slice* slices, cl_uint wait_count,
                                              const cl_event* wait_list, cl_event* event);

/* The status that each server of this process reports; takes one round trip.
 * [{"address","state":"connected"|"lost"|"unreachable","error","status":STATUS if connected}]
 * STATUS: {"version","host","process","uptime_s","session_count","commands","clients":TRAFFIC,"peers":TRAFFIC,
 *  "devices":[{"index","name","memory_used","memory_total","queue_depth","utilisation": 0 to 1, null if nobody has
 *              asked for a while,"observed_s","placed": kernels that clients' automatic devices have placed there}],
 *  "sessions":[{"is_own","session": its id as 16 hexadecimal digits,"user","over_s": for how long its client has
 * been gone while the driver still works for it; null before,"address","host","program","process","age_s","commands",
 *               "memory":[bytes by device],"placed":[likewise],"traffic":TRAFFIC,"rdma":RDMA,"weight": of its
 *               user next to others on a device, null if the server does not say so}],
 *  "links":[{"is_own","server","is_connected","traffic":TRAFFIC,"rdma":RDMA}],
 *  "users":[{"user","device","busy_s": during which the driver was seen to have commands of the user,"commands",
 *            "placed"}],
 *  "rdma":{"clients"|"peers":{"channels","losses","bytes_sent","bytes_received","bytes_copied","system_calls"}},
 *  "round_trip_us"}
 * RDMA is null if the server does not say so.
 * The server's totals include sessions that have ended, and traffic is as seen by the server. It lists only the
 * sessions of the asker's user, from the asker's own address or, if asked over loopback, from everywhere. */
REMOTECL_EXPORT char* remotecl_status_json(void);

/* Watches a server ("host[:port]") without a session, its devices or this process's platform. NULL, with *error set
 * to a JSON string (free it), if the server cannot be reached. One thread at a time. */
typedef struct remotecl_monitor remotecl_monitor;
REMOTECL_EXPORT remotecl_monitor* remotecl_monitor_open(const char* server, char** error);
/* STATUS, with "epoch", which differs between two runs of a daemon. NULL and *error if the server is lost or does
 * not answer within 3 s; then the monitor can only be closed. */
REMOTECL_EXPORT char* remotecl_monitor_status_json(remotecl_monitor* monitor, char** error);
/* Ends the session with this id: {"result":"ended"|"ending"|"unknown"|"refused","text"}. NULL and *error as above.
 */
REMOTECL_EXPORT char* remotecl_monitor_kick(remotecl_monitor* monitor, uint64_t session, char** error);
REMOTECL_EXPORT void remotecl_monitor_close(remotecl_monitor* monitor);

/* Long operations in progress in this process: transfers of 1 MiB or more that have begun, builds, connecting.
 * [{"id","kind":"upload"|"download"|"between_servers"|"build"|"connect","where","done","total"}], in bytes, or servers.
 * Between servers, "where" is "host:port to host:port", and "done" is 0; the receiving server's status has the bytes
 * of the link. */
REMOTECL_EXPORT char* remotecl_operations_json(void);

/* Begins to record every command and transfer of this process, but at most records_max of them (about 400 bytes
 * each; 0 means REMOTECL_TRACE_RECORDS); later ones are only counted. One trace at a time: returns -1 and sets *error
 * (JSON string, free it) if one is running. */
#define REMOTECL_TRACE_RECORDS 1000000
REMOTECL_EXPORT int remotecl_trace_start(uint64_t records_max, char** error);

/* Waits at most wait_s seconds for unfinished commands, ends the trace and returns it. NULL if no trace is running.
 * {"duration_ns", "dropped", "lanes": [{"server","device","index"}], "columns": [names], "records": [[values]]}
 * In a record, by column:
 *   kind        "kernel", "read", "write", "copy", ... as in CL_COMMAND_..., or "transfer", which the runtime added
 *   name        the kernel's name, else the kind
 *   lane        the device, as an index into "lanes"
 *   queue, buffers  the application's handles as integers; queue 0 is an internal one
 *   queue_id    a number that no other queue of this process has, where a later queue may have the handle of one that
 *               was released; 0 for an internal one
 *   in_order    1 if later commands of the queue wait for it
 *   status      0, a negative error, or 3 while it has not ended
 *   bytes       that it transfers; null for commands that transfer none
 *   depends_on  indices of the records that it waited for, for their events or their data
 *   source, destination  of the bytes: -1 for this process, or a lane; null for commands that transfer none
 *   queued, received, submit, start, end, arrived  ns since the trace began, on this process's clock, null if
 *               unknown: enqueued here, received by the server, handed to the native driver, started, ended, and,
 *               for data that comes to this process, arrived here
 *   profiled    1 if the device has reported start and end (queues with CL_QUEUE_PROFILING_ENABLE); else the end is
 *               when the server noticed, and the start is the latest of submit and the ends that it waited for.
 *               Consecutive kernels of a few us share that moment, and their ends are spread evenly before it */
REMOTECL_EXPORT char* remotecl_trace_stop(double wait_s);

/* [{"event": number, "kind", "name", "queue", "place": in the queue, or 0, "in_order", "server", "device", "index",
 *   "status", "waits": [numbers of the events in its wait list],
 *   "times": null or [queued, submit, start, end] in ns on this process's clock, of profiled commands that have ended}]
 * null for handles that are not events of remotecl's. Does not wait for commands. */
REMOTECL_EXPORT char* remotecl_events_json(const cl_event* events, size_t count);

/* The automatic device, which stands for all others: each kernel on its queues runs on one of them. It is listed from
 * now on, as it is with REMOTECL_AUTO=1. `policy`: the name of a policy, or the path of a library with one of the
 * user's (remotecl/policy.h), for all queues from now on; NULL leaves it. On failure returns NULL and puts the reason
 * into `error`, as a JSON string. */
REMOTECL_EXPORT cl_device_id remotecl_auto(const char* policy, char** error);

/* A policy of this program's own, for all queues from now on. The table's functions get `self`; its `create` is not
 * called, and its `destroy` is, when another policy replaces this one. Returns 0, or -1 and puts the reason into
 * `error`, as a JSON string: then nothing has changed, and `self` stays the caller's. */
struct remotecl_policy;
REMOTECL_EXPORT int remotecl_set_policy(const struct remotecl_policy* table, void* self, char** error);

/* {"name", "server", "index"} of the device that policies know by this number, or null. */
REMOTECL_EXPORT char* remotecl_policy_device(unsigned device);

/* Why the kernel of this event runs where it does: null for an event that is none of an automatic device's kernels, or
 * not one of the latest 4096. Devices: {"name", "server", "index"}
 * {"kernel", "device", "policy", "reason", "expected_s": until it ends, "waits_s": of these for earlier tasks,
 *  "transfer_s", "bytes": to bring there, "runs_s", "measured": false if that is a prediction, "score": what the policy
 *  compares, "runner_up": device or null, "runner_up_score", "text": the same for people} */
REMOTECL_EXPORT char* remotecl_explain_event(cl_event event);

REMOTECL_EXPORT void remotecl_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
