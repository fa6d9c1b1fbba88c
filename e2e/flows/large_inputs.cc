// SPDX-License-Identifier: Apache-2.0
// Objects of one tenant with the largest size that the API server accepts: pull secrets of 1 MiB,
// pods of 1 MB. The programs stay below their memory limits, and pods of other tenants do not wait.
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;
using kube::core::Pod;

constexpr int kSecretsOfAPod = 32;
constexpr int kPodsWithSecrets = 16;
constexpr int kLargePods = 100;
constexpr size_t kMegabyte = 1'000'000;

class LargeInputsFlow : public FlowFixture {
 protected:
  void SetUp() override {
#ifdef BUILT_WITH_SANITIZER
    GTEST_SKIP() << "a sanitizer build needs more memory";
#endif
    FlowFixture::SetUp();
    if (HasFatalFailure()) return;
    // Flows before this one may have killed processes.
    for (const char* program : {"operator", "cluster-controller", "webhook"}) {
      for (PodProcess* process : kubelet().OfProgram(program, cluster().operator_namespace()))
        restarts_[process->name()] = process->restarts();
    }
    // This namespace is not a scene, so the test itself does not watch its pods.
    greedy_ = scene().ns() + "-greedy";
    Json labels = {{kSceneLabel, "true"}};
    auto created =
        scene().Create(kNamespaces, {{"apiVersion", "v1"},
                                     {"kind", "Namespace"},
                                     {"metadata", {{"name", greedy_}, {"labels", labels}}}});
    ASSERT_TRUE(created) << created.error();
  }
  void TearDown() override {
    if (!greedy_.empty())
      kube::IgnoreError(scene().Delete(kNamespaces, greedy_), "it may be absent");
    FlowFixture::TearDown();
  }

  ProcessKubelet& kubelet() { return TheProcessCluster().kubelet(); }

  // No process of the program in the operator's namespace has restarted since SetUp(), or exceeded
  // its memory limit.
  void ExpectWithinLimit(const std::string& program) {
    std::vector<PodProcess*> processes =
        kubelet().OfProgram(program, cluster().operator_namespace());
    EXPECT_FALSE(processes.empty());
    for (PodProcess* process : processes) {
      EXPECT_EQ(process->restarts(), restarts_[process->name()]) << process->LogTail();
      EXPECT_GT(process->memory_limit(), 0);
      auto pid = process->pid();
      ASSERT_TRUE(pid) << pid.error();
      auto cost = CostOf(*pid);
      ASSERT_TRUE(cost) << cost.error();
      std::cout << program << ": at most " << cost->peak_rss_kb << " kB of "
                << process->memory_limit() / 1024 << " kB" << std::endl;
      EXPECT_LT(cost->peak_rss_kb, process->memory_limit() / 1024);
    }
  }

  Result<> CreateSecrets() {
    for (int i = 0; i < kSecretsOfAPod; ++i) {
      Json secret = PullSecret("pull-" + std::to_string(i),
                               DockerConfig("registry.invalid", "u", std::string(kMegabyte, 'x')));
      secret["metadata"]["namespace"] = greedy_;
      auto created = scene().Create(kSecrets, std::move(secret));
      if (!created) return created.error();
    }
    return Ok();
  }
  PodBuilder GreedyPod(const std::string& name) {
    // A pod that the scheduler does not write.
    return MakePod(name).Namespace(greedy_).Set("/spec/schedulerName", "none");
  }
  Result<> CreatePodsWithSecrets() {
    for (int i = 0; i < kPodsWithSecrets; ++i) {
      PodBuilder pod = GreedyPod("secrets-" + std::to_string(i));
      for (const char* image :
           {"demo/multi:1", "demo/arm64-amd64:1", "demo/ppc64le-s390x:1", "demo/amd64:1",
            "demo/arm64:1", "demo/ppc64le:1", "demo/s390x:1", "demo/multi:2"}) {
        pod.Image(Image(image));
      }
      for (int secret = 0; secret < kSecretsOfAPod; ++secret)
        pod.PullSecret("pull-" + std::to_string(secret));
      auto created = scene().Create(kPods, pod.Build());
      if (!created) return created.error();
    }
    return Ok();
  }
  // 1 MB each, in environment variables: annotations are limited to 256 KiB.
  Result<> CreateLargePods(const std::string& prefix) {
    Json env = Json::array();
    for (int i = 0; i < 250; ++i) {
      env.push_back(
          {{"name", "V" + std::to_string(i)}, {"value", std::string(kMegabyte / 250, 'x')}});
    }
    for (int i = 0; i < kLargePods; ++i) {
      PodBuilder pod = GreedyPod(prefix + std::to_string(i)).Image(Image("demo/multi:1"));
      pod.Set("/spec/containers/0/env", env);
      auto created = scene().Create(kPods, pod.Build());
      if (!created) return created.error();
    }
    return Ok();
  }
  // Gated pods of the greedy namespace.
  Result<int> CountGated() {
    kube::ListOptions options{.ns = greedy_};
    kube::ListPages pages(cluster().client(), kube::ResourceOf<Pod>::value, std::move(options),
                          /*protobuf=*/true);
    int gated = 0;
    while (pages.more()) {
      Result<kube::RawList> page = cluster().Run(pages.Next());
      if (!page) return page.error();
      for (const std::string& item : page->items) {
        Result<Pod> pod = kube::DecodeBare<Pod>(item);
        if (!pod) return pod.error();
        gated += pod->spec().scheduling_gates_size() > 0 ? 1 : 0;
      }
    }
    return gated;
  }
  Condition Gated(int count) {
    return {.name = std::to_string(count) + " gated pods in " + greedy_,
            .holds = [this, count](Scene&) -> Result<> {
              Result<int> gated = CountGated();
              if (!gated) return gated.error();
              if (*gated == count) return Ok();
              return Error::NotFound("there are " + std::to_string(*gated));
            }};
  }
  // New pods stay gated while they are stopped.
  std::vector<ProgramIn> Controllers() {
    return {{"cluster-controller", cluster().operator_namespace()}};
  }
  Step Call(const std::string& name, std::function<Result<>()> call) {
    return {.name = name, .act = [call = std::move(call)](Scene&) { return call(); }};
  }

  std::string greedy_;
  std::map<std::string, int> restarts_;  // by process, in SetUp()
};

// As after a restart: all objects exist when the controller starts.
TEST_F(LargeInputsFlow, StayBelowTheControllersLimitAndDelayNoOtherPod) {
  Flow flow(scene(), "a greedy tenant and the cluster controller");
  flow.Do(Call("create secrets", [this] { return CreateSecrets(); }))
      .Do(StopPrograms(Controllers()))
      .Await(NoProcessOf(Controllers()))
      .Do(Call("create pods with secrets", [this] { return CreatePodsWithSecrets(); }))
      .Do(Call("create large pods", [this] { return CreateLargePods("large-"); }))
      .Await(Gated(kPodsWithSecrets + kLargePods))
      .Do(Create(MakePod("before").Image(Image("demo/arm64:1"))));
  StartPrograms(Controllers());
  flow.Await(Requires("before", {"arm64"}))
      // While the backlog of the other namespace is not done.
      .Do(Create(MakePod("modest").Image(Image("demo/multi:1"))))
      .Await(Requires("modest", {"amd64", "arm64", "ppc64le", "s390x"}), 5s)
      // One large pod of a namespace at a time: a slow machine needs minutes.
      .Await(Gated(0), 240s)
      .Await(ClusterConfigReady());
  ExpectWithinLimit("cluster-controller");
  ExpectWithinLimit("webhook");
}

// Without a controller the operator ungates the pods when the ClusterPodPlacementConfig is deleted.
TEST_F(LargeInputsFlow, StayBelowTheOperatorsLimit) {
  const std::string config(api::kClusterConfigName);
  Flow flow(scene(), "a greedy tenant and the operator");
  flow.Await(NoConfigAnywhere())
      .Do(StopPrograms(Controllers()))
      .Await(NoProcessOf(Controllers()))
      .Do(Call("create large pods", [this] { return CreateLargePods("large-"); }))
      .Await(Gated(kLargePods))
      .Do(Delete(kClusterConfigs, config))
      .Await(Absent(kClusterConfigs, config), 120s)
      .Check(Gated(0));
  StartPrograms(Controllers());
  ExpectWithinLimit("operator");
}

}  // namespace
}  // namespace e2e
