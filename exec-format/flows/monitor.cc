// SPDX-License-Identifier: Apache-2.0
// The monitors of exec format errors, with the kernel of this machine: each is a process of the
// process tier, and a container is a cgroup with the names that a kubelet gives. Where the kernel
// permits no BPF program, the condition has to say so, and nothing crashes.
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "e2e/framework/flow_fixture.h"
#include "exec-format/e_no_exec_event.h"
#include "exec-format/flows/reported_container.h"
#include "exec-format/names.h"
#include "exec-format/operator/monitor_status.h"
#include "exec-format/testing/started_file.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

const std::string kCluster(api::kClusterConfigName);
const std::string kAvailable(exec_format::kMonitorAvailable);
const std::string kReason(exec_format::kReasonExecFormatError);
const std::string kLabel(exec_format::kExecFormatErrorLabel);
const std::string kMonitors(exec_format::kMonitorNamespace);
constexpr kube::Resource kFindings = kube::ResourceOf<exec_format::ENoExecEvent>::value;

// A container of a pod, as far as a monitor sees it.
class Container {
 public:
  Container(const std::string& pod_uid, char digit) : id_(64, digit) {
    const fs::path root = exec_format::CgroupRoot();
    if (root.empty()) return;
    pod_ = root / ("kubepods-pod" + pod_uid + ".slice");
    folder_ = pod_ / ("cri-containerd-" + id_ + ".scope");
    fs::create_directories(folder_);
  }
  ~Container() {
    if (folder_.empty()) return;
    std::error_code ignored;
    fs::remove(folder_, ignored);
    fs::remove(pod_, ignored);
  }
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  bool can_run() const { return !folder_.empty(); }
  std::string id() const { return "containerd://" + id_; }

  // Returns: errno of execve() of `path` inside.
  int Execute(const std::string& path) const {
    return exec_format::Start(path, exec_format::Call::kExecve, folder_);
  }

 private:
  std::string id_;
  fs::path pod_;
  fs::path folder_;
};

Condition NoFindings() {
  return {.name = "no ENoExecEvent is left", .holds = [](Scene& scene) -> Result<> {
            Cluster& cluster = scene.cluster();
            kube::ListOptions options{.ns = cluster.operator_namespace()};
            auto found =
                cluster.Run(kube::ListObjects(cluster.client(), kFindings, std::move(options)));
            if (!found) return found.error();
            if (found->items.empty()) return Ok();
            return Error::AlreadyExists(kube::DumpJson(found->items.front().body()));
          }};
}

class ExecFormatMonitorFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    auto used = UseClusterConfig(
        DefaultClusterConfig().Set("/spec/plugins/execFormatErrorMonitor/enabled", true));
    ASSERT_TRUE(used) << used.error();
    Flow enabled(scene(), "the monitors run");
    enabled.Await(Known());
    ASSERT_FALSE(enabled.failed());
    Condition works = HasStatusCondition(kClusterConfigs, kCluster, kAvailable, "True");
    if (!works.holds(scene()))
      GTEST_SKIP() << "this kernel permits no monitor, and the condition says so";
  }
  void TearDown() override {
    fs::remove_all(folder_);
    FlowFixture::TearDown();
  }

  std::string Write(const std::string& name, const std::string& content) {
    return exec_format::WriteExecutable(folder_, name, content);
  }
  std::string UidOf(const std::string& pod) {
    auto found = scene().Get(kPods, pod);
    return found ? kube::StringAt(*found, "metadata.uid") : "";
  }

 private:
  // All nodes are watched, or the condition has a reason from a monitor.
  static Condition Known() {
    return {.name = "the condition is known", .holds = [](Scene& scene) -> Result<> {
              if (HasStatusCondition(kClusterConfigs, kCluster, kAvailable, "True").holds(scene))
                return Ok();
              return HasStatusCondition(kClusterConfigs, kCluster, kAvailable, "False",
                                        "the kernel")
                  .holds(scene);
            }};
  }

  fs::path folder_ = fs::temp_directory_path() / ("monitor-flow-" + std::to_string(getpid()));
};

TEST_F(ExecFormatMonitorFlow, AFileOfAnotherMachineIsReportedToItsPod) {
  Flow flow(scene(), "a foreign file is started");
  flow.Do(Create(MakePod("web").Image(Image("demo/multi:1")).Set("/spec/nodeName", "node-amd64")))
      .Await(Runs("web"));
  Container container(UidOf("web"), 'c');
  if (!container.can_run()) GTEST_SKIP() << "no cgroup can be made";
  std::string path = Write("server", exec_format::ForeignElf());
  flow.Do(ReportContainer("web", container.id()));
  ASSERT_EQ(container.Execute(path), ENOEXEC);
  flow.Await(EventAbout("web", kReason, {"\"c0\"", path, "node-amd64"}))
      .Await(Labelled("web", kLabel, "true"))
      .Await(NoFindings());
}

TEST_F(ExecFormatMonitorFlow, ALoopCostsLittleAndHidesNoOtherPod) {
  Flow flow(scene(), "a loop of files that are none");
  for (const char* pod : {"loop", "quiet"}) {
    flow.Do(Create(MakePod(pod).Image(Image("demo/multi:1")).Set("/spec/nodeName", "node-amd64")))
        .Await(Runs(pod));
  }
  Container loop(UidOf("loop"), 'd');
  Container quiet(UidOf("quiet"), 'e');
  if (!loop.can_run()) GTEST_SKIP() << "no cgroup can be made";
  flow.Do(ReportContainer("loop", loop.id())).Do(ReportContainer("quiet", quiet.id()));
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(loop.Execute(Write("empty-" + std::to_string(i), "")), ENOEXEC);
  ASSERT_EQ(quiet.Execute(Write("script", "echo without an interpreter\n")), ENOEXEC);
  flow.Await(EventAbout("quiet", kReason, {"script"})).Await(NoFindings());
  // Of two windows of the kernel's share, should one begin meanwhile.
  Cluster& cluster = scene().cluster();
  kube::ListOptions options{.ns = scene().ns(), .field_selector = "reason=" + kReason};
  auto events = cluster.Run(kube::ListObjects(cluster.client(), kEvents, std::move(options)));
  ASSERT_TRUE(events) << events.error();
  EXPECT_LE(events->items.size(), 1u + 5u);
}

TEST_F(ExecFormatMonitorFlow, NothingIsLeftWithoutThePlugin) {
  // Of a monitor that was stopped between its two writes.
  exec_format::ENoExecEvent half;
  half.mutable_metadata()->set_namespace_(cluster().operator_namespace());
  half.mutable_metadata()->set_name("half");
  auto written = cluster().Run(kube::Create(cluster().client(), half));
  ASSERT_TRUE(written) << written.error();
  auto used = UseClusterConfig(DefaultClusterConfig());
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "the plugin is disabled")
      .Await(Absent(kNamespaces, kMonitors), 120s)
      .Await(NoFindings());
}

}  // namespace
}  // namespace e2e
