/* Networks between two ends, for tests of transports: real queues, exact time, no I/O.
 * Generated from crates/path-c/src by cbindgen; a test compares both. One thread at a time may use a path. */

#ifndef LOCKGATE_PATH_H
#define LOCKGATE_PATH_H

#include <stddef.h>
#include <stdint.h>

// Picoseconds of a millisecond: all times are picoseconds since the start of the path.
#define LOCKGATE_MILLISECOND UINT64_C(1000000000)

// Last time of all: `lockgate_path_receive` with it returns the next arrival, whenever it is.
#define LOCKGATE_NEVER UINT64_MAX

// ECN field: not capable of marks.
#define LOCKGATE_NOT_ECT 0

// ECN field: capable of marks, of a scalable transport (RFC 9331).
#define LOCKGATE_ECT1 1

// ECN field: capable of marks.
#define LOCKGATE_ECT0 2

// ECN field: marked by a queue.
#define LOCKGATE_CE 3

// Flag of a path: keeps a row of each packet at each queue, for `lockgate_summary_write_pcapng` and `_qlog`.
#define LOCKGATE_KEEP_PACKETS 1

// Fate of a packet when the call that sent it returns.
enum lockgate_fate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The call failed: see `lockgate_last_error`.
  LOCKGATE_FATE_ERROR = -1,
  // The packet is on its way; it may still be lost.
  LOCKGATE_FATE_SENT = 0,
  // The packet is lost already.
  LOCKGATE_FATE_DROPPED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lockgate_fate lockgate_fate;
#else
typedef int32_t lockgate_fate;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A network between ends. One thread at a time may use it.
typedef struct lockgate_path lockgate_path;

// Results of a path.
typedef struct lockgate_summary lockgate_summary;

// A packet at the end of its way.
typedef struct {
  // Contents, until the next call with this path; `NULL` if only their number was given.
  const uint8_t *bytes;
  // Number of these bytes.
  size_t length;
  // Time of the arrival of its last bit, in picoseconds.
  uint64_t at;
  // Time at which it was sent.
  uint64_t sent;
  // Time that it waited in queues.
  uint64_t queued;
  // End at which it arrived: 0 or 1.
  uint32_t end;
  // Number among the packets that its sender sent, from 0.
  uint32_t number;
  // Frame length on the line in bytes, headers included.
  uint32_t frame_length;
  // DSCP in the upper six bits, ECN in the lower two.
  uint8_t traffic_class;
} lockgate_delivery;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the text of the latest error of this thread; empty before the first. It stays until the next
// error.
const char *lockgate_last_error(void);

// Builds a path of one link between two ends, 0 (`a`) and 1 (`b`): `rate` such as "10mbit", `delay` one way
// such as "20ms", and a queue before the link in both directions such as `fq_codel`. Returns `NULL` on
// error. Free it by `lockgate_path_free`, or end it by `lockgate_path_finish`.
//
// # Safety
// The texts end with a zero byte.
lockgate_path *lockgate_path_between(const char *a,
                                     const char *b,
                                     const char *rate,
                                     const char *delay,
                                     const char *queue,
                                     uint64_t seed,
                                     uint32_t flags);

// Builds a path from the text of a scenario, with ends 0 and 1 at two of its nodes. Returns `NULL` on error.
//
// # Safety
// The texts end with a zero byte.
lockgate_path *lockgate_path_from_scenario(const char *scenario,
                                           const char *from,
                                           const char *to,
                                           uint64_t seed,
                                           uint32_t flags);

// Sends a datagram at `now`: 42 bytes of headers are added on the line. With `bytes` `NULL`, only its length
// counts.
//
// # Safety
// The path is one of this library, not freed, and used by no other call; `bytes` is `NULL` or has `length`
// bytes.
lockgate_fate lockgate_path_send(lockgate_path *path,
                                 uint64_t now,
                                 uint32_t end,
                                 const uint8_t *bytes,
                                 size_t length,
                                 uint8_t traffic_class);

// Sends an IPv4 or IPv6 packet at `now`, whose headers are read; a mark is written into it on the way.
//
// # Safety
// That of `lockgate_path_send`.
lockgate_fate lockgate_path_send_ip(lockgate_path *path,
                                    uint64_t now,
                                    uint32_t end,
                                    const uint8_t *bytes,
                                    size_t length);

// Advances the path to the next arrival, at the latest to `until`. Returns 1 if one is in `delivery`, 0 if
// there is none, -1 on error. Answer an arrival before the next call of it.
//
// # Safety
// The path is one of this library, not freed, and used by no other call; `delivery` is `NULL` or may be
// written.
int lockgate_path_receive(lockgate_path *path,
                          uint64_t until,
                          lockgate_delivery *delivery);

// Returns the time up to which the path has been advanced; 0 without a path.
//
// # Safety
// The path is `NULL` or one of this library, not freed, and used by no other call.
uint64_t lockgate_path_now(const lockgate_path *path);

// Returns the time at which something happens next in the network; `LOCKGATE_NEVER` if nothing happens until
// something is sent.
//
// # Safety
// That of `lockgate_path_now`.
uint64_t lockgate_path_next(const lockgate_path *path);

// Changes a value of the network at `now`, by its path: "link.path.rate" to "5mbit". Returns 0, or -1 on
// error: nothing is changed then.
//
// # Safety
// The path is one of this library, not freed, and used by no other call; the texts end with a zero byte.
int lockgate_path_set(lockgate_path *path,
                      uint64_t now,
                      const char *key,
                      const char *value);

// Frees a path that was not finished.
//
// # Safety
// The path is `NULL` or one of this library, not freed, and used by no other call.
void lockgate_path_free(lockgate_path *path);

// Ends a path now and frees it. Returns its results, or `NULL` on error. Free them by
// `lockgate_summary_free`.
//
// # Safety
// The path is `NULL` or one of this library, not freed, and used by no other call.
lockgate_summary *lockgate_path_finish(lockgate_path *path);

// Writes the value of a metric, in its base unit (seconds, bit/s, a share of 1), such as
// "flow.client-server.loss". Returns 0, or -1 if there is no such metric or it has no value.
//
// # Safety
// The summary is one of this library, not freed; `value` is `NULL` or may be written.
int lockgate_summary_metric(lockgate_summary *summary, const char *address, double *value);

// Returns the whole summary as JSON, in the form of `summary.json`; it is freed with the summary.
//
// # Safety
// The summary is `NULL` or one of this library, not freed, and used by no other call.
const char *lockgate_summary_json(lockgate_summary *summary);

// Writes the packets at all queues to a file, as a capture for Wireshark. Returns 0, or -1 on error.
//
// # Safety
// The summary is one of this library, not freed; the text ends with a zero byte.
int lockgate_summary_write_pcapng(lockgate_summary *summary,
                                  const char *file);

// Writes what happened to the packets at all queues to a file, as qlog. Returns 0, or -1 on error.
//
// # Safety
// That of `lockgate_summary_write_pcapng`.
int lockgate_summary_write_qlog(lockgate_summary *summary, const char *file);

// Frees a summary.
//
// # Safety
// The summary is `NULL` or one of this library, not freed, and used by no other call.
void lockgate_summary_free(lockgate_summary *summary);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LOCKGATE_PATH_H */
