// SPDX-License-Identifier: Apache-2.0
// exec-format-error-monitor: tells the cluster of files that were started on this node and are not
// for it. One runs on each node. Where the kernel does not permit that, it says so and waits: its
// pod is not ready, and has an event with the reason.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "exec-format/binary/binary_format.h"
#include "exec-format/e_no_exec_event.h"
#include "exec-format/monitor/container.h"
#include "exec-format/monitor/event_writer.h"
#include "exec-format/monitor/kernel/kernel_watch.h"
#include "exec-format/names.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/one_line.h"
#include "kube/controller/event_recorder.h"
#include "kube/program/program.h"
#include "kube/types/core.pb.h"

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace, where ENoExecEvents are created.");
DEFINE_string(node, "", "The name of this node.");
DEFINE_string(pod, "", "The name of this pod, for its event; empty: none is recorded.");
DEFINE_string(pod_namespace, "", "The namespace of this pod.");
DEFINE_string(pod_uid, "", "The UID of this pod.");

namespace exec_format {
namespace {

using namespace std::chrono_literals;
using kube::Result;

// A kernel may permit later what it refuses now: a lockdown is a setting.
constexpr auto kTryAgainAfter = 10min;

class Monitor {
 public:
  explicit Monitor(kube::Program& program)
      : program_(program),
        writer_(program.client(), program.clock(), {.node = FLAGS_node, .ns = FLAGS_namespace}),
        events_(program.client(), program.clock(), {.component = std::string(kMonitorName)}) {
    program.health().AddReadiness("kernel", [this] { return state_; });
    AddMetrics(program.metrics());
  }

  void Start() {
    program_.tasks().Spawn("writer", writer_.Run());
    if (!FLAGS_pod.empty()) program_.tasks().Spawn("events", events_.Run());
    program_.tasks().Spawn("kernel", Watch());
  }

 private:
  void AddMetrics(kube::Metrics& metrics) {
    auto add = [&](const char* reason, auto value) {
      kube::Gauge& gauge = metrics.AddGauge(
          "mto_exec_format_errors_not_reported",
          "Failed calls of execve() since the start that are not reported, by reason",
          {{"reason", reason}});
      metrics.OnRender([&gauge, value] { gauge.Set(static_cast<double>(value())); });
    };
    add("LoopInCgroup", [this] { return losses().of_cgroup; });
    add("LoopOnNode", [this] { return losses().of_node; });
    add("BufferFull", [this] { return losses().full; });
    add("InNoPod", [this] { return in_no_pod_; });
    add("Repeated", [this] { return writer_.dropped().repeated; });
    add("TooManyOfPod", [this] { return writer_.dropped().of_pod; });
    add("TooManyPods", [this] { return writer_.dropped().pods; });
    add("WriteFailed", [this] { return writer_.failed(); });
    kube::Gauge& reported = metrics.AddGauge("mto_exec_format_errors_reported",
                                             "ENoExecEvents that were written since the start");
    metrics.OnRender([this, &reported] { reported.Set(static_cast<double>(writer_.written())); });
  }

  KernelWatch::Losses losses() const {
    return watch_ != nullptr ? watch_->losses() : KernelWatch::Losses();
  }

  void See(ExecError error) {
    std::optional<Container> container = ContainerOf(error);
    if (!container) {
      ++in_no_pod_;
      return;
    }
    std::string program;
    if (error.head) {
      const BinaryFormat format = ReadBinaryFormat(*error.head, /*file_size=*/std::nullopt);
      program = kube::OneLine(Describe(format)).substr(0, kMaxProgram);
    }
    writer_.Report({std::move(*container), std::move(error.path), std::move(program)});
  }

  kube::asio::awaitable<void> Watch() {
    co_await kube::IgnoreCancellation();
    while (true) {
      Result<> ended = co_await WatchOnce();
      if (FailedWith(ended, kube::Code::kCancelled)) co_return;
      Fail(ended.error());
      Result<> slept = co_await program_.clock().Sleep(kTryAgainAfter);
      if (!slept) co_return;
    }
  }

  kube::Async<> WatchOnce() {
    Result<std::unique_ptr<KernelWatch>> watch = KernelWatch::New(program_.executor());
    if (!watch) co_return watch.error();
    watch_ = std::move(*watch);
    state_ = kube::Ok();
    LOG(INFO) << "watching for exec format errors on node " << FLAGS_node;
    KernelWatch::Listener see = [this](ExecError error) { See(std::move(error)); };
    Result<> ended = co_await watch_->Run(std::move(see));
    watch_.reset();
    co_return ended.error();
  }

  void Fail(const kube::Error& why) {
    state_ = why;
    LOG(WARNING) << "exec format errors on node " << FLAGS_node << " are not seen: " << why;
    kube::core::ObjectReference pod;
    pod.set_api_version("v1");
    pod.set_kind("Pod");
    pod.set_namespace_(FLAGS_pod_namespace);
    pod.set_name(FLAGS_pod);
    pod.set_uid(FLAGS_pod_uid);
    if (!FLAGS_pod.empty())
      events_.Record(pod, /*warning=*/true, kReasonNotMonitored, why.message());
  }

  kube::Program& program_;
  EventWriter writer_;
  kube::EventRecorder events_;
  std::unique_ptr<KernelWatch> watch_;
  Result<> state_ = kube::Error::Unavailable("starting");
  uint64_t in_no_pod_ = 0;
};

kube::Async<> Serve(kube::Program& program) {
  if (FLAGS_node.empty()) co_return kube::Error::Invalid("--node is missing");
  kube::ConnectOptions connect{.max_connections = 2};
  Result<> done = program.Connect(connect);
  if (!done) co_return done;
  Monitor monitor(program);
  done = program.StartOps(&program.metrics());
  if (!done) co_return done;
  monitor.Start();
  co_await program.app().WaitForStop();
  co_return co_await program.Drain();
}

}  // namespace
}  // namespace exec_format

int main(int argc, char** argv) {
  return kube::RunProgram({.name = exec_format::kMonitorName,
                           .summary = "Tells of files that are not for this node.",
                           .version = api::kVersion,
                           .argc = argc,
                           .argv = argv},
                          api::UserAgent(exec_format::kMonitorName), exec_format::Serve);
}
