/* remotecl's own C interface, beside OpenCL's. Exported by libremotecl.so, the library that is also the ICD,
 * so that whoever links it shares the connections of the OpenCL program in the same process.
 * All functions may be called from any thread. Returned strings are JSON in UTF-8 and are freed with
 * remotecl_free(). */
#ifndef REMOTECL_REMOTECL_H
#define REMOTECL_REMOTECL_H

#include <CL/cl.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REMOTECL_EXPORT __attribute__((visibility("default")))

/* clGetDeviceInfo: char[], "host:port" of the server that the device is on. */
#define CL_DEVICE_REMOTECL_SERVER 0x5243C001
/* clGetDeviceInfo: char[], name of the native platform that the device belongs to on its server. */
#define CL_DEVICE_REMOTECL_PLATFORM 0x5243C002
/* clGetDeviceInfo: cl_uint, over how many connections bulk data goes to that server and back; 0: through memory. */
#define CL_DEVICE_REMOTECL_BULK_STREAMS 0x5243C003

/* Version of this library, "major.minor.patch". */
REMOTECL_EXPORT const char* remotecl_version(void);

/* Version of the protocol that this library speaks; a server must speak the same. */
REMOTECL_EXPORT unsigned remotecl_protocol_version(void);

/* Adds servers ("host[:port]", comma separated; default port 10990) and connects to them now.
 * Returns 0, or -1 with *error set to a JSON string (free it) that says which server failed, why, and the remedy.
 * At any time: clGetDeviceIDs finds more devices then. Servers that are connected already are skipped. One that was
 * lost and is there again has new devices, in place of the lost ones. */
REMOTECL_EXPORT int remotecl_connect(const char* servers, char** error);

/* The platform's handle, NULL when no server is configured. It works with any loader, also one that was initialised
 * without us: loaders call through the handle. */
REMOTECL_EXPORT cl_platform_id remotecl_platform(void);

/* The caller is about to stop this server ("host:port" as in remotecl_servers_json): its loss is not said on stderr. */
REMOTECL_EXPORT void remotecl_expect_shutdown(const char* address);

/* Ends the connection to a server ("host[:port]"). clGetDeviceIDs finds its devices no more, commands that have not
 * ended fail, and what was in its memory only is lost. Returns 0, or -1 with *error set as above when it is not
 * connected. */
REMOTECL_EXPORT int remotecl_disconnect(const char* server, char** error);

/* For programs whose waits have to be interruptible, as Python's by Ctrl-C. From now on, blocking calls of this thread
 * return when so much time has passed, counted from here, with CL_SUCCESS although their command goes on: clFinish,
 * clWaitForEvents, and reads, writes and mappings that are asked for an event. 0: they wait for as long as it takes.
 * Returns what has become of the calls since the last time, bits of these:
 * REMOTECL_WAIT_OVER: the time was over. Wait for the event, or call clFinish or clWaitForEvents again; memory that the
 *   call was given stays in use until then.
 * REMOTECL_WRITE_GOES_ON: a write does not need its memory any more and has not ended. */
#define REMOTECL_WAIT_OVER 1
#define REMOTECL_WRITE_GOES_ON 2
REMOTECL_EXPORT unsigned remotecl_limit_waits(uint64_t nanoseconds);

/* Whether an event of remotecl's has ended, as far as this process knows: asks nobody. 1 for a handle that is none. */
REMOTECL_EXPORT int remotecl_has_ended(cl_event event);

/* [{"address","name": with its options, as for remotecl_connect,"status":"connected"|"lost"|"unreachable","error",
 *   "devices":[names],"round_trip_us"}] */
REMOTECL_EXPORT char* remotecl_servers_json(void);

/* What this process has counted since it connected. Asks nobody.
 * {"servers":[{"address","bytes_sent","bytes_received","messages_sent","messages_received","traffic":TRAFFIC}],
 *  "links":[{"servers":[address,address],"state":"connected"|"connecting"|"failed"|"none","reason"}],
 *  "transfers":{"saved"|"from_host"|"between_servers"|"within_server"|"through_client":{"count","bytes"}},
 *  "caches":{"image_formats":{"hits","misses"}}}
 * TRAFFIC: {"control"|"bulk":{"sent"|"received":{"bytes","messages"}}}; bulk connections count whole transfers as
 * messages. Links are those between servers that share a context; without one, what moves between the two goes through
 * this process. Transfers: ranges of bytes that commands read and that their device had already (saved), or that had to
 * be brought. */
REMOTECL_EXPORT char* remotecl_stats_json(void);

/* For one buffer (or every live buffer when mem is NULL):
 * [{"buffer": handle as integer, "size",
 *   "places":[{"name":"host"|"server/device name","device": handle as integer, 0 for the host}],
 *   "ranges":[{"offset","size","version","holders":[names],
 *              "states":["newest"|"arriving"|"stale"|"lost"|"undefined", one per place]}]}]
 * "newest": holds this version, or will when the commands enqueued so far have ended; "arriving": it is on its way
 * there; "stale": holds an older version or nothing; "lost": held it, but its server is lost; "undefined": nobody has
 * written these bytes (version 0), or a migration has declared them undefined. */
REMOTECL_EXPORT char* remotecl_residency_json(cl_mem mem);

/* clSetContentSizeBufferPoCL (cl_pocl_content_size) for programs without its function pointer: the first 8 bytes of
 * `content_size_buffer`, a cl_ulong, say how many bytes of `buffer`, from its begin, are worth sending. NULL detaches
 * it again, which the extension cannot. An OpenCL error code. */
REMOTECL_EXPORT cl_int remotecl_set_content_size(cl_mem buffer, cl_mem content_size_buffer);

/* clEnqueueMigrateMemObjects without a queue: brings the newest version of `objects`, all of one context, to `device`
 * while queues go on. Goes after the commands that were enqueued to write them, and waits for `wait_list`. The event,
 * which may be NULL, has no queue. An OpenCL error code. */
REMOTECL_EXPORT cl_int remotecl_prefetch(cl_device_id device, cl_uint count, const cl_mem* objects, cl_uint wait_count,
                                         const cl_event* wait_list, cl_event* event);

/* What the servers of this process tell of themselves; asks each of them, in one round trip.
 * [{"address","state":"connected"|"lost"|"unreachable","error","status":STATUS if connected}]
 * STATUS: {"version","host","process","uptime_s","session_count","commands","clients":TRAFFIC,"peers":TRAFFIC,
 *  "devices":[{"index","name","memory_used","memory_total","queue_depth","utilisation": 0 to 1, null when nobody has
 *              asked for a while,"observed_s"}],
 *  "sessions":[{"is_own","session": its number as 16 hexadecimal digits,"user","over_s": since its client has gone, and
 *               what the driver has of it goes on; null before,"address","host","program","process","age_s","commands",
 *               "memory":[bytes by device],"traffic":TRAFFIC}],
 *  "links":[{"is_own","server","is_connected","traffic":TRAFFIC}],"round_trip_us"}
 * Numbers of the server count sessions that have ended, too, and its traffic is seen from the server. Only sessions of
 * the asker's own address are listed, all of them when it asks by loopback. */
REMOTECL_EXPORT char* remotecl_status_json(void);

/* Looks at a server ("host[:port]") without a session: opening one does not use its devices, nor this process's
 * platform. NULL, with *error set to a JSON string (free it), when it cannot be reached. One thread at a time. */
typedef struct remotecl_monitor remotecl_monitor;
REMOTECL_EXPORT remotecl_monitor* remotecl_monitor_open(const char* server, char** error);
/* STATUS, with "epoch", which differs between two runs of a daemon. NULL and *error when the
 * server is lost or does not answer within 3 s; then the monitor is only good for being closed. */
REMOTECL_EXPORT char* remotecl_monitor_status_json(remotecl_monitor* monitor, char** error);
/* Ends the session with this number: {"result":"ended"|"ending"|"unknown"|"refused","text"}. NULL and *error as above.
 */
REMOTECL_EXPORT char* remotecl_monitor_kick(remotecl_monitor* monitor, uint64_t session, char** error);
REMOTECL_EXPORT void remotecl_monitor_close(remotecl_monitor* monitor);

/* What lasts, and is under way in this process: transfers of a MiB and more that have begun, builds, connecting.
 * [{"id","kind":"upload"|"download"|"between_servers"|"build"|"connect","where","done","total"}], in bytes, or servers.
 * Between servers "where" is "host:port to host:port", and "done" 0: the receiving server's status has the link's
 * bytes. */
REMOTECL_EXPORT char* remotecl_operations_json(void);

/* Begins to record every command and transfer of this process, at most records_max of them (about 400 bytes each; 0
 * stands for REMOTECL_TRACE_RECORDS); later ones are counted only. One trace at a time: -1 and *error (JSON string,
 * free it) when one is running. */
#define REMOTECL_TRACE_RECORDS 1000000
REMOTECL_EXPORT int remotecl_trace_start(uint64_t records_max, char** error);

/* Ends the trace and returns it; what has not ended yet is waited for, wait_s seconds at most. NULL when no trace is
 * running.
 * {"duration_ns", "dropped", "lanes": [{"server","device","index"}], "columns": [names], "records": [[values]]}
 * In a record, by column:
 *   kind        "kernel", "read", "write", "copy", ... as in CL_COMMAND_..., or "transfer", which the runtime added
 *   name        the kernel's name, else the kind
 *   lane        of the device, in "lanes"
 *   queue, buffers  the application's handles as integers; queue 0 is one of the runtime's own
 *   in_order    1 when what comes later in the queue waits for it
 *   status      0, a negative error, or 3 while it has not ended
 *   bytes       that it moves; null for others
 *   depends_on  indices of records that it waited for, by events or for their data
 *   source, destination  of bytes: -1 for this process, or a lane; null for what moves none
 *   queued, received, submit, start, end, arrived  ns since the trace began, on this process's clock, null where not
 *               known: enqueued here, received by the server, handed to the native driver, started, ended, and for
 *               what comes to this process, here
 *   profiled    1 when the device has told start and end (queues with CL_QUEUE_PROFILING_ENABLE); else the end is when
 *               the server knew, and the start is the latest of submit and the ends that it waited for. Kernels
 *               of a few us that follow one another share that moment, and their ends are spread evenly before it */
REMOTECL_EXPORT char* remotecl_trace_stop(double wait_s);

/* [{"event": number, "kind", "name", "queue", "place": in the queue, or 0, "in_order", "server", "device", "index",
 *   "status", "waits": [numbers of the events of its wait list],
 *   "times": null or [queued, submit, start, end] in ns on this process's clock, of profiled commands that have ended}]
 * null for a handle that is no event of remotecl's. Does not wait for commands. */
REMOTECL_EXPORT char* remotecl_events_json(const cl_event* events, size_t count);

REMOTECL_EXPORT void remotecl_free(char* text);

#ifdef __cplusplus
}
#endif
#endif
