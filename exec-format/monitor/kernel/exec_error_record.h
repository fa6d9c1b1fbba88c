// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The record of a failed execve(), as the BPF program writes it: exec_errors.bpf.c and
// kernel_watch.cc include it.
#ifndef EXEC_FORMAT_MONITOR_KERNEL_EXEC_ERROR_RECORD_H_
#define EXEC_FORMAT_MONITOR_KERNEL_EXEC_ERROR_RECORD_H_

// Bytes, with the 0 at the end. A longer text is cut.
#define EXEC_ERROR_PATH 256
#define EXEC_ERROR_CGROUP_NAME 96
// Of a container of a cluster that runs in a container itself (kind), 8; the rest for cgroups that
// a container has made.
#define EXEC_ERROR_CGROUPS 12
// Of the file: the header of an ELF file.
#define EXEC_ERROR_HEAD 64

struct exec_error_record {
  // What the caller named; "" if its page was not in memory.
  char path[EXEC_ERROR_PATH];
  // Of the cgroup of the process and those around it; "" at the root.
  char cgroups[EXEC_ERROR_CGROUPS][EXEC_ERROR_CGROUP_NAME];
  // The first bytes of the file that the kernel has tried last: of a script, that is its
  // interpreter. Filled up with 0. Only if `has_head` is not 0.
  char head[EXEC_ERROR_HEAD];
  unsigned int has_head;
};

// Positions in the map `not_reported`.
enum exec_error_loss {
  EXEC_ERROR_LOSS_CGROUP = 0,  // the cgroup has had its share
  EXEC_ERROR_LOSS_NODE = 1,    // the node has
  EXEC_ERROR_LOSS_FULL = 2,    // the ring buffer is full
  EXEC_ERROR_LOSSES = 3,
};

#endif  // EXEC_FORMAT_MONITOR_KERNEL_EXEC_ERROR_RECORD_H_
