// SPDX-License-Identifier: Apache-2.0
// I1 to I5 while programs of two releases work together, in both directions: the cluster's operands
// are of one release and shards of the other. DeployOperator() says what the old release is.
//
// Pods are created in all namespaces during the whole time. In some of them the Deployments of the
// shard are paused, so that their pods stay those of the other release until the flow has seen them
// work with the new operands of the cluster.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/version.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr int kNamespacesOfFlow = 6;
constexpr int kHeld = 2;

constexpr std::string_view kShardDeployments[] = {api::kShardControllerName,
                                                  api::kShardWebhookName};

class UpgradeBetweenReleasesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    if (HasFatalFailure()) return;
    for (int i = 0; i < kNamespacesOfFlow; ++i) {
      auto made = Scene::Make(cluster(), "release", Json::object());
      ASSERT_TRUE(made) << made.error();
      scenes_.push_back(std::move(*made));
      Flow(*scenes_.back(), "a shard").Do(Create(MakeConfig("only").Prefer("arm64", 10)));
    }
    for (auto& made : scenes_) Flow(*made, "a shard").Await(ShardReady());
  }

  // Later flows run with this release.
  void TearDown() override {
    if (running_ != Release::kNew) {
      auto deployed = TheProcessCluster().DeployOperator();
      EXPECT_TRUE(deployed) << deployed.error();
    }
    scenes_.clear();
    FlowFixture::TearDown();
  }

  Result<Json> DeploymentIn(const std::string& ns, std::string_view name) {
    kube::ObjectKey key{ns, std::string(name)};
    auto found = cluster().Run(kube::GetObject(cluster().client(), kDeployments, key));
    if (!found) return found.error();
    return found->body();
  }

  // All pods of the Deployment run, with an image of `release`.
  Result<> Runs(const std::string& ns, std::string_view name, Release release) {
    Result<Json> deployment = DeploymentIn(ns, name);
    if (!deployment) return deployment.error();
    std::string image = (*deployment)["spec"]["template"]["spec"]["containers"][0]["image"];
    int64_t replicas = kube::IntAt(*deployment, "spec.replicas");
    bool complete = kube::IntAt(*deployment, "status.observedGeneration") ==
                        kube::IntAt(*deployment, "metadata.generation") &&
                    kube::IntAt(*deployment, "status.updatedReplicas") == replicas &&
                    kube::IntAt(*deployment, "status.replicas") == replicas &&
                    kube::IntAt(*deployment, "status.availableReplicas") == replicas;
    if (complete && image.ends_with(":" + ProcessCluster::TagOf(release))) return Ok();
    return Error::NotFound(ns + "/" + std::string(name) + " is not complete with " + image);
  }
  Result<> ClusterRuns(Release release) {
    for (std::string_view name : {api::kControllerName, api::kWebhookName}) {
      Result<> runs = Runs(cluster().operator_namespace(), name, release);
      if (!runs) return runs;
    }
    return Ok();
  }
  Result<> ShardRuns(Scene& scene, Release release) {
    for (std::string_view name : kShardDeployments) {
      Result<> runs = Runs(scene.ns(), name, release);
      if (!runs) return runs;
    }
    return Ok();
  }
  bool Held(size_t scene) const { return scene < kHeld; }
  void PauseHeld(bool paused) {
    for (size_t i = 0; i < scenes_.size(); ++i) {
      for (std::string_view name : kShardDeployments) {
        if (!Held(i)) continue;
        Json patch = {{"spec", {{"paused", paused}}}};
        auto patched = scenes_[i]->Patch(kDeployments, std::string(name), std::move(patch));
        ASSERT_TRUE(patched) << patched.error();
      }
    }
  }
  // The images of the running pods of the shard are of `release`, whatever the Deployments say.
  void ExpectPodsOf(Scene& scene, Release release) {
    auto pods = scene.List(kPods, "app.kubernetes.io/managed-by=multiarch-tuning-operator");
    ASSERT_TRUE(pods) << pods.error();
    int running = 0;
    for (const Json& pod : *pods) {
      if (!kube::StringAt(pod, "metadata.deletionTimestamp").empty()) continue;
      ++running;
      std::string image = pod["spec"]["containers"][0]["image"];
      EXPECT_TRUE(image.ends_with(":" + ProcessCluster::TagOf(release))) << image;
    }
    EXPECT_EQ(running, 2);
  }

  // One pod for each kind of pod, in `scene`: one without wishes, one that prefers an architecture,
  // one that requires one. Returns: the names.
  std::vector<std::string> CreatePods(Scene& scene) {
    std::string number = std::to_string(created_++);
    const std::pair<std::string, PodBuilder> pods[] = {
        {"plain-" + number, MakePod("plain-" + number)},
        {"prefers-" + number, MakePod("prefers-" + number).Prefer("s390x", 7)},
        {"requires-" + number,
         MakePod("requires-" + number).NodeSelector("kubernetes.io/arch", "amd64")}};
    std::vector<std::string> names;
    for (auto [name, pod] : pods) {
      names.push_back(name);
      auto created = scene.Create(kPods, pod.Image(Image("demo/multi:1")).Build());
      EXPECT_TRUE(created) << name << ": " << created.error();
    }
    return names;
  }
  // Waits until `holds`, while pods are created.
  void AwaitWithPods(const std::string& what, const std::function<Result<>()>& holds) {
    kube::TimePoint deadline = cluster().clock().Now() + 2 * cluster().timeout();
    size_t next = 0;
    while (true) {
      Result<> state = holds();
      if (state) return;
      ASSERT_LT(cluster().clock().Now(), deadline) << what << ": " << state.error();
      CreatePods(*scenes_[next++ % scenes_.size()]);
      cluster().Pause(200ms);
    }
  }

  // What holds for a pod whatever programs it met.
  static Result<> PodIsRight(const PodHistory& pod) {
    if (IsGated(pod.last())) return Error::NotFound("I3: still gated");
    bool was_gated = HasGate(pod.events.front().pod, api::kClusterGate);
    if (!was_gated) return Error::NotFound("created without the cluster gate");
    bool prefers = pod.name.starts_with("prefers-");
    bool requires_own = pod.name.starts_with("requires-");
    std::map<std::string, int> preferences = PreferencesOf(pod.last());
    if (prefers && preferences != std::map<std::string, int>{{"s390x", 7}})
      return Error::NotFound("I5: the user's preference is not the only one");
    if (!prefers && preferences != std::map<std::string, int>{{"arm64", 10}})
      return Error::NotFound("I4: the preference is missing");
    if (requires_own != RequirementsOf(pod.last()).empty())
      return Error::NotFound("I5: a requirement is added to a nodeSelector, or is missing");
    return Ok();
  }
  void AwaitAllPodsRight(Scene& scene) {
    Flow flow(scene, "pods of two releases");
    flow.Await({.name = "all pods are right", .holds = [](Scene& scene) -> Result<> {
                  for (const PodHistory* pod : scene.pods().All()) {
                    if (IsOperand(pod->last())) continue;
                    Result<> right = PodIsRight(*pod);
                    if (!right) return right.error().Prefix(pod->name);
                  }
                  return Ok();
                }});
    flow.Never(ClusterGateRemovedBeforeLocal()).Never(GateRemovedWithoutItsDecision());
  }

  // Replaces `from` by `to` and looks at the pods of every stage.
  void Replace(Release from, Release to) {
    PauseHeld(true);
    auto deployed = TheProcessCluster().DeployOperator(to);
    ASSERT_TRUE(deployed) << deployed.error();
    running_ = to;
    AwaitWithPods("the cluster's operands", [&] { return ClusterRuns(to); });
    if (HasFatalFailure()) return;
    AwaitWithPods("the shards that are not paused", [&]() -> Result<> {
      for (size_t i = 0; i < scenes_.size(); ++i) {
        if (Held(i)) continue;
        Result<> runs = ShardRuns(*scenes_[i], to);
        if (!runs) return runs;
      }
      return Ok();
    });
    if (HasFatalFailure()) return;

    // The shards of one release and the cluster's operands of the other.
    for (size_t i = 0; i < scenes_.size(); ++i) {
      Scene& scene = *scenes_[i];
      ExpectPodsOf(scene, Held(i) ? from : to);
      for (const std::string& name : CreatePods(scene)) {
        Flow flow(scene, "a pod in a cluster of two releases");
        flow.Await(Ungated(name));
        if (flow.failed()) return;
        const PodHistory& pod = *scene.pods().Find(name);
        EXPECT_TRUE(HasGate(pod.events.front().pod, api::kLocalGate)) << name;
        EXPECT_TRUE(HasLabel(pod.last(), std::string(api::kLocalGateLabel), "removed")) << name;
      }
      AwaitAllPodsRight(scene);
    }

    PauseHeld(false);
    AwaitWithPods("all shards", [&]() -> Result<> {
      for (auto& scene : scenes_) {
        Result<> runs = ShardRuns(*scene, to);
        if (!runs) return runs;
      }
      return Ok();
    });
    for (auto& scene : scenes_) {
      CreatePods(*scene);
      AwaitAllPodsRight(*scene);
      Flow(*scene, "the replaced shard")
          .Await({.name = "the status has the version of the release",
                  .holds = [&](Scene& scene) -> Result<> {
                    auto config = scene.Get(kConfigs, "only");
                    if (!config) return config.error();
                    const Json* programs = kube::Find(*config, "status.controllers");
                    if (programs == nullptr) return Error::NotFound("no status");
                    for (const Json& program : *programs) {
                      bool is_new = kube::StringAt(program, "version") == api::kVersion;
                      if (is_new != (to == Release::kNew))
                        return Error::NotFound(kube::DumpJson(program));
                    }
                    return Ok();
                  }});
    }
    std::cout << created_ << " times three pods so far, with "
              << (to == Release::kNew ? "new" : "old") << " programs now" << std::endl;
  }

  std::vector<std::unique_ptr<Scene>> scenes_;
  Release running_ = Release::kNew;
  int created_ = 0;
};

TEST_F(UpgradeBetweenReleasesFlow, ProgramsOfTwoReleasesWorkTogether) {
  // Shards of this release, and the cluster's operands of the old one.
  Replace(Release::kNew, Release::kOld);
  if (HasFailure()) return;
  // The same in the other direction, as in every upgrade.
  Replace(Release::kOld, Release::kNew);
}

}  // namespace
}  // namespace e2e
