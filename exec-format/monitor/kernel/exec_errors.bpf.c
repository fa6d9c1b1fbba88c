// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Records each execve() and execveat() that returns ENOEXEC: which path, in which cgroup.
//
// It runs at the exit of every system call, where all but these return after one comparison: a
// tracepoint of a single system call costs as much, since the kernel then takes the slow path for
// all of them, and needs tracefs, which is a mount of the host.
//
// The types of the kernel have the fields that are used here; libbpf finds their offsets in the BTF
// of the running kernel (CO-RE). Needs Linux 5.8.
#include <linux/bpf.h>
// After linux/bpf.h.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "exec-format/monitor/kernel/exec_error_record.h"

#define ENOEXEC 8
#define OF_KERNEL __attribute__((preserve_access_index))

// A cgroup reports this often in a window, so that a loop of failing calls wakes nobody up; the
// node, in all its cgroups, that often.
#define WINDOW_NS 10000000000ull
#define OF_A_CGROUP 4
#define OF_THE_NODE 200

struct kernfs_node {
  const char* name;
} OF_KERNEL;
// Until Linux 6.14, and since.
struct kernfs_node___parent {
  struct kernfs_node* parent;
} OF_KERNEL;
struct kernfs_node___rcu {
  struct kernfs_node* __parent;
} OF_KERNEL;
struct cgroup_root;
struct cgroup {
  struct kernfs_node* kn;
  struct cgroup_root* root;
} OF_KERNEL;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
} OF_KERNEL;
struct css_set {
  struct cgroup_subsys_state* subsys[1];
  struct cgroup* dfl_cgrp;
} OF_KERNEL;
struct task_struct {
  struct css_set* cgroups;
} OF_KERNEL;
enum cgroup_subsys_id { pids_cgrp_id, memory_cgrp_id };
struct linux_binprm {
  char buf[EXEC_ERROR_HEAD];
} OF_KERNEL;

// Where each architecture has the number of the system call and its first two arguments.
#if defined(__TARGET_ARCH_x86)
struct pt_regs___call {
  unsigned long orig_ax, di, si;
} OF_KERNEL;
#define NUMBER(regs) ((int)BPF_CORE_READ(regs, orig_ax))
#define FIRST(regs) BPF_CORE_READ(regs, di)
#define SECOND(regs) BPF_CORE_READ(regs, si)
#define EXECVE 59
#define EXECVEAT 322
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs___call {
  unsigned long long regs[31];
  unsigned long long orig_x0;
  int syscallno;
} OF_KERNEL;
#define NUMBER(regs) BPF_CORE_READ(regs, syscallno)
#define FIRST(regs) BPF_CORE_READ(regs, orig_x0)
#define SECOND(regs) BPF_CORE_READ(regs, regs[1])
#define EXECVE 221
#define EXECVEAT 281
#elif defined(__TARGET_ARCH_powerpc)
struct pt_regs___call {
  unsigned long gpr[32];
  unsigned long orig_gpr3;
} OF_KERNEL;
#define NUMBER(regs) ((int)BPF_CORE_READ(regs, gpr[0]))
#define FIRST(regs) BPF_CORE_READ(regs, orig_gpr3)
#define SECOND(regs) BPF_CORE_READ(regs, gpr[4])
#define EXECVE 11
#define EXECVEAT 362
#elif defined(__TARGET_ARCH_s390)
struct pt_regs___call {
  unsigned long gprs[16];
  unsigned long orig_gpr2;
  unsigned int int_code;
} OF_KERNEL;
#define NUMBER(regs) ((int)(BPF_CORE_READ(regs, int_code) & 0xffff))
#define FIRST(regs) BPF_CORE_READ(regs, orig_gpr2)
#define SECOND(regs) BPF_CORE_READ(regs, gprs[3])
#define EXECVE 11
#define EXECVEAT 354
#else
#error "where are the arguments of a system call?"
#endif

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 64 << 10);
} records SEC(".maps");

struct share {
  __u64 since;
  __u32 used;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64);
  __type(value, struct share);
} shares SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, EXEC_ERROR_LOSSES);
  __type(key, __u32);
  __type(value, __u64);
} not_reported SEC(".maps");

// By task: what it executes.
struct head {
  char bytes[EXEC_ERROR_HEAD];
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, __u64);
  __type(value, struct head);
} heads SEC(".maps");

static void Lose(__u32 reason) {
  __u64* count = bpf_map_lookup_elem(&not_reported, &reason);
  if (count) __sync_fetch_and_add(count, 1);
}

// Whether `key` may report once more.
static int Take(__u64 key, __u32 most) {
  __u64 now = bpf_ktime_get_ns();
  struct share* share = bpf_map_lookup_elem(&shares, &key);
  if (!share || now - share->since > WINDOW_NS) {
    struct share fresh = {.since = now, .used = 1};
    bpf_map_update_elem(&shares, &key, &fresh, BPF_ANY);
    return 1;
  }
  if (share->used >= most) return 0;
  __sync_fetch_and_add(&share->used, 1);
  return 1;
}

static struct kernfs_node* ParentOf(struct kernfs_node* node) {
  struct kernfs_node___rcu* newer = (void*)node;
  struct kernfs_node___parent* older = (void*)node;
  if (bpf_core_field_exists(newer->__parent)) return BPF_CORE_READ(newer, __parent);
  return BPF_CORE_READ(older, parent);
}

// The cgroup that the container runtime made. With version 1, that of the controller `pids`, or of
// `memory` in a kernel without it. In the unified hierarchy, a cgroup need not have the controller:
// then its state is that of a cgroup around it.
static struct kernfs_node* CgroupOf(struct task_struct* task) {
  struct css_set* set = BPF_CORE_READ(task, cgroups);
  int controller = 0;
  if (bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id)) {
    controller = bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id);
  } else if (bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) {
    controller = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
  }
  struct cgroup_subsys_state* state = 0;
  struct cgroup_subsys_state** states = (void*)set + bpf_core_field_offset(set->subsys);
  bpf_probe_read_kernel(&state, sizeof(state), states + controller);
  struct cgroup* of_controller = BPF_CORE_READ(state, cgroup);
  struct cgroup* unified = BPF_CORE_READ(set, dfl_cgrp);
  if (BPF_CORE_READ(of_controller, root) == BPF_CORE_READ(unified, root))
    return BPF_CORE_READ(unified, kn);
  return BPF_CORE_READ(of_controller, kn);
}

// Before each attempt of the kernel to execute a file: it has read the first bytes by then. Not all
// kernels allow this program (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS); without it, the bytes are
// missing in the record.
SEC("fentry/security_bprm_check")
int BPF_PROG(on_check, struct linux_binprm* binary) {
  __u64 task = bpf_get_current_pid_tgid();
  struct head head = {};
  bpf_probe_read_kernel(head.bytes, sizeof(head.bytes),
                        (void*)binary + bpf_core_field_offset(binary->buf));
  bpf_map_update_elem(&heads, &task, &head, BPF_ANY);
  return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, void* frame, long result) {
  if (result != -ENOEXEC) return 0;
  struct pt_regs___call* regs = frame;
  int number = NUMBER(regs);
  if (number != EXECVE && number != EXECVEAT) return 0;

  struct kernfs_node* node = CgroupOf((void*)bpf_get_current_task());
  if (!Take((__u64)node, OF_A_CGROUP)) {
    Lose(EXEC_ERROR_LOSS_CGROUP);
    return 0;
  }
  if (!Take(0, OF_THE_NODE)) {
    Lose(EXEC_ERROR_LOSS_NODE);
    return 0;
  }
  struct exec_error_record* record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
  if (!record) {
    Lose(EXEC_ERROR_LOSS_FULL);
    return 0;
  }
  record->path[0] = 0;
  const char* path = (void*)(number == EXECVE ? FIRST(regs) : SECOND(regs));
  bpf_probe_read_user_str(record->path, sizeof(record->path), path);
  for (int i = 0; i < EXEC_ERROR_CGROUPS; ++i) {
    record->cgroups[i][0] = 0;
    if (!node) continue;
    bpf_probe_read_kernel_str(record->cgroups[i], sizeof(record->cgroups[i]),
                              BPF_CORE_READ(node, name));
    node = ParentOf(node);
  }
  __u64 task = bpf_get_current_pid_tgid();
  struct head* head = bpf_map_lookup_elem(&heads, &task);
  record->has_head = head != 0;
  if (head) __builtin_memcpy(record->head, head->bytes, sizeof(record->head));
  bpf_ringbuf_submit(record, 0);
  return 0;
}

// The kernel gives the helpers that read its memory to programs under the GPL alone.
char kLicense[] SEC("license") = "GPL";
