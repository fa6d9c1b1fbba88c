// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/kernel/kernel_watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "exec-format/monitor/kernel/exec_error_record.h"
#include "exec-format/monitor/kernel/program_bytes.h"

namespace exec_format {
namespace {

using kube::Error;
using kube::Result;

constexpr char kBtf[] = "/sys/kernel/btf/vmlinux";

struct FreeObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
struct FreeLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
struct FreeBuffer {
  void operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
};
using Object = std::unique_ptr<bpf_object, FreeObject>;
using Link = std::unique_ptr<bpf_link, FreeLink>;
using Buffer = std::unique_ptr<ring_buffer, FreeBuffer>;

// The verifier's log is for authors of programs.
int Print(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  VLOG(1) << line;
  return 0;
}

// `error`: of errno.
Error Refused(std::string_view what, int error) {
  std::string message =
      "the kernel refused to " + std::string(what) + ": " + std::strerror(std::abs(error));
  if (std::abs(error) == EPERM || std::abs(error) == EACCES) {
    return Error::PermissionDenied(message +
                                   " (needs CAP_BPF and CAP_PERFMON, and no lockdown of "
                                   "confidentiality)");
  }
  return Error::Unavailable(std::move(message));
}

// A text that ends at its 0, or with the array.
template <size_t kSize>
std::string TextOf(const char (&text)[kSize]) {
  return {text, std::find(text, text + kSize, '\0')};
}

// The kernel fills up a short file with zeros; an ELF file is not short.
std::string HeadOf(const char (&bytes)[EXEC_ERROR_HEAD]) {
  std::string head(bytes, sizeof(bytes));
  if (!head.starts_with("\x7f"
                        "ELF"))
    head.resize(head.find_last_not_of('\0') + 1);
  return head;
}

ExecError ToExecError(const exec_error_record& record) {
  ExecError error{.path = TextOf(record.path), .cgroups = {}};
  if (record.has_head != 0) error.head = HeadOf(record.head);
  for (const auto& name : record.cgroups) {
    if (name[0] == '\0') return error;
    error.cgroups.push_back(TextOf(name));
  }
  error.whole = false;
  return error;
}

class LibbpfWatch final : public KernelWatch {
 public:
  LibbpfWatch(kube::Executor executor, Object object, Link on_exit, Link on_check)
      : executor_(std::move(executor)),
        object_(std::move(object)),
        on_exit_(std::move(on_exit)),
        on_check_(std::move(on_check)) {}

  Result<> Open() {
    bpf_map* records = bpf_object__find_map_by_name(object_.get(), "records");
    losses_ = bpf_object__find_map_by_name(object_.get(), "not_reported");
    if (records == nullptr || losses_ == nullptr) return Error::Internal("the maps are missing");
    buffer_.reset(ring_buffer__new(bpf_map__fd(records), &LibbpfWatch::OnRecord, this, nullptr));
    if (buffer_ == nullptr) return Refused("map the ring buffer", errno);
    return kube::Ok();
  }

  // KernelWatch
  kube::Async<> Run(Listener listener) override {
    co_await kube::IgnoreCancellation();
    listener_ = std::move(listener);
    // Asio closes its own copy.
    kube::asio::posix::stream_descriptor ready(executor_,
                                               dup(ring_buffer__epoll_fd(buffer_.get())));
    while (true) {
      int read = ring_buffer__consume(buffer_.get());
      if (read < 0) co_return Refused("read the ring buffer", read);
      auto waited =
          co_await ready.async_wait(kube::asio::posix::stream_descriptor::wait_read, kube::kTuple);
      auto& [failed] = waited;
      if (failed) co_return Error::Cancelled("the watch of the kernel stops");
    }
  }

  Losses losses() const override {
    std::array<uint64_t, EXEC_ERROR_LOSSES> counts{};
    for (uint32_t reason = 0; reason < EXEC_ERROR_LOSSES; ++reason)
      bpf_map__lookup_elem(losses_, &reason, sizeof(reason), &counts[reason], sizeof(uint64_t), 0);
    return {.of_cgroup = counts[EXEC_ERROR_LOSS_CGROUP],
            .of_node = counts[EXEC_ERROR_LOSS_NODE],
            .full = counts[EXEC_ERROR_LOSS_FULL]};
  }

 private:
  static int OnRecord(void* watch, void* data, size_t size) {
    if (size < sizeof(exec_error_record)) return 0;
    static_cast<LibbpfWatch*>(watch)->listener_(
        ToExecError(*static_cast<const exec_error_record*>(data)));
    return 0;
  }

  kube::Executor executor_;
  Listener listener_;
  Object object_;
  Link on_exit_;
  Link on_check_;  // may be nullptr
  Buffer buffer_;
  bpf_map* losses_ = nullptr;
};

Result<Object> LoadObject(bool reads_files) {
  std::string_view bytes = ProgramBytes();
  Object object(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (object == nullptr) return Refused("open the BPF program", errno);
  bpf_program* on_check = bpf_object__find_program_by_name(object.get(), "on_check");
  if (on_check != nullptr) bpf_program__set_autoload(on_check, reads_files);
  if (int failed = bpf_object__load(object.get()); failed != 0)
    return Refused("load the BPF program", failed);
  return object;
}

// nullptr if there is no such program in the kernel, or it is refused.
Link Attach(const Object& object, const char* name) {
  bpf_program* program = bpf_object__find_program_by_name(object.get(), name);
  if (program == nullptr || bpf_program__fd(program) < 0) return nullptr;
  return Link(bpf_program__attach(program));
}

}  // namespace

Result<std::unique_ptr<KernelWatch>> KernelWatch::New(kube::Executor executor) {
  libbpf_set_print(&Print);
  if (access(kBtf, R_OK) != 0) {
    return Error::Unavailable(std::string("the kernel has no BTF: ") + kBtf + ": " +
                              std::strerror(errno));
  }
  // Not every kernel allows the program that reads files.
  Result<Object> object = LoadObject(/*reads_files=*/true);
  if (!object) object = LoadObject(/*reads_files=*/false);
  if (!object) return object.error();
  Link on_exit = Attach(*object, "on_exit");
  if (on_exit == nullptr)
    return Refused("attach the BPF program to the end of system calls", errno);
  Link on_check = Attach(*object, "on_check");
  LOG_IF(INFO, on_check == nullptr)
      << "the kernel does not allow to read the files that are executed: " << std::strerror(errno);
  auto watch = std::make_unique<LibbpfWatch>(std::move(executor), std::move(*object),
                                             std::move(on_exit), std::move(on_check));
  if (Result<> opened = watch->Open(); !opened) return opened.error();
  return std::unique_ptr<KernelWatch>(std::move(watch));
}

}  // namespace exec_format
