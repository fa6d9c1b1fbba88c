// SPDX-License-Identifier: Apache-2.0
// A new operator upgrades the shards of many namespaces: some at a time, and no further while those
// that were upgraded fail. The owner of one namespace cannot stop it. Log verbosity is no upgrade:
// it changes without a restart.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kOperator[] = "multiarch-tuning-operator";
constexpr size_t kAtATime = 2;
// The first namespaces.
constexpr size_t kHostile = 2;

class UpgradeFlow : public FlowFixture {
 protected:
  ProcessKubelet& kubelet() { return TheProcessCluster().kubelet(); }

  // Starts a new operator with the shard's image `tag`, and kAtATime upgrades at a time.
  Result<> ReplaceOperator(const std::string& tag) {
    kube::ObjectKey key{cluster().operator_namespace(), kOperator};
    auto found = cluster().Run(kube::GetObject(cluster().client(), kDeployments, key));
    if (!found) return found.error();
    Json args = found->body()["spec"]["template"]["spec"]["containers"][0]["args"];
    Json changed = Json::array();
    for (const Json& arg : args) {
      std::string text = arg.get<std::string>();
      if (text.starts_with("--shard-upgrades=")) continue;
      if (text.starts_with("--shard-image="))
        text = "--shard-image=integration.test/pod-placement/shard:" + tag;
      changed.push_back(text);
    }
    changed.push_back("--shard-upgrades=" + std::to_string(kAtATime));
    Json patch = Json::array({{{"op", "replace"},
                               {"path", "/spec/template/spec/containers/0/args"},
                               {"value", std::move(changed)}}});
    auto patched = cluster().Run(
        kube::PatchObject(cluster().client(), kDeployments, key, kube::kJsonPatch, patch));
    if (!patched) return patched.error();
    return Ok();
  }

  // The scenes whose shard has the image `tag`; adds to `rolling` those of them that do not run,
  // without the hostile ones.
  Result<std::set<size_t>> Upgraded(const std::string& tag, size_t* rolling = nullptr) {
    std::set<size_t> upgraded;
    for (size_t i = 0; i < scenes_.size(); ++i) {
      auto deployment = scenes_[i]->Get(kDeployments, std::string(api::kShardControllerName));
      if (!deployment) return deployment.error();
      std::string image = (*deployment)["spec"]["template"]["spec"]["containers"][0]["image"];
      if (!image.ends_with(":" + tag)) continue;
      upgraded.insert(i);
      bool runs = kube::IntAt(*deployment, "status.availableReplicas") > 0;
      if (rolling != nullptr && !runs && i >= kHostile) ++*rolling;
    }
    return upgraded;
  }
  Condition AllHave(const std::string& tag) {
    return {.name = "all shards have the image " + tag, .holds = [this, tag](Scene&) -> Result<> {
              size_t rolling = 0;
              Result<std::set<size_t>> upgraded = Upgraded(tag, &rolling);
              if (!upgraded) return upgraded.error();
              most_at_a_time_ = std::max(most_at_a_time_, rolling);
              if (upgraded->size() == scenes_.size()) return Ok();
              return Error::NotFound(std::to_string(upgraded->size()) + " have it");
            }};
  }
  // Upgrades that were begun before the operator stopped have failed too.
  Condition AllReportFailure(const std::string& tag) {
    return {.name = "the namespaces with the image " + tag + " report its failure",
            .holds = [this, tag](Scene&) -> Result<> {
              Result<std::set<size_t>> upgraded = Upgraded(tag);
              if (!upgraded) return upgraded.error();
              Condition failed =
                  HasStatusCondition(kConfigs, "only", "Degraded", "True", "--image-pull-secrets");
              for (size_t i : *upgraded) {
                Result<> holds = failed.holds(*scenes_[i]);
                if (!holds) return holds.error().Prefix(scenes_[i]->ns());
              }
              return Ok();
            }};
  }
  Condition OnlyThese(const std::set<size_t>& scenes, const std::string& tag) {
    return {.name = "no other shard gets the image " + tag,
            .holds = [this, scenes, tag](Scene&) -> Result<> {
              Result<std::set<size_t>> upgraded = Upgraded(tag);
              if (!upgraded) return upgraded.error();
              if (*upgraded == scenes) return Ok();
              return Error::Conflict(std::to_string(upgraded->size()) + " have it");
            }};
  }
  Condition ShardsAre(const std::string& status, const std::string& text) {
    return HasStatusCondition(kClusterConfigs, std::string(api::kClusterConfigName),
                              "ShardsUpToDate", status, text);
  }

  // About the ClusterPodPlacementConfig; such events are in the namespace "default".
  Condition ClusterEvent(const std::string& reason, const std::string& text) {
    return {.name = "event " + reason, .holds = [this, reason, text](Scene&) -> Result<> {
              kube::ListOptions options{.ns = "default"};
              auto events = cluster().Run(kube::ListObjects(cluster().client(), kEvents, options));
              if (!events) return events.error();
              for (const kube::Unstructured& event : events->items) {
                if (kube::StringAt(event.body(), "reason") == reason &&
                    kube::StringAt(event.body(), "message").find(text) != std::string::npos)
                  return Ok();
              }
              return Error::NotFound("there is none");
            }};
  }

  std::vector<std::unique_ptr<Scene>> scenes_;
  size_t most_at_a_time_ = 0;
};

TEST_F(UpgradeFlow, SomeNamespacesAtATimeUntilTheyFail) {
  for (size_t i = 0; i < 8; ++i) {
    auto made = Scene::Make(cluster(), "upgrade", Json::object());
    ASSERT_TRUE(made) << made.error();
    scenes_.push_back(std::move(*made));
    Flow(*scenes_.back(), "a shard").Do(Create(MakeConfig("only").Prefer("arm64", 10)));
  }
  for (auto& made : scenes_) Flow(*made, "shards").Await(ShardReady());

  // The owners of two namespaces make their shards fail, which does not stop other shards.
  Scene& image_fails = *scenes_[0];
  Scene& no_room = *scenes_[1];
  kubelet().FailImagePulls("shard", image_fails.ns(), true);
  Json quota = {{"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", "none"}}}};
  quota["spec"]["hard"]["pods"] = "0";
  Flow(no_room, "a quota").Do(Create(kResourceQuotas, std::move(quota)));
  auto replaced = ReplaceOperator("next");
  ASSERT_TRUE(replaced) << replaced.error();
  Flow flow(scene(), "a staged upgrade");
  flow.Await(AllHave("next"), 120s)
      .Await(ShardsAre("True", "UpgradedWithFailures"), 120s)
      .Await(ShardsAre("True", "namespace " + image_fails.ns() + ": "))
      .Await(ShardsAre("True", "namespace " + no_room.ns() + ": QuotaExceeded"));
  EXPECT_LE(most_at_a_time_, kAtATime);
  for (size_t i = kHostile; i < scenes_.size(); ++i)
    Flow(*scenes_[i], "after the upgrade").Await(ShardReady());
  Flow(no_room, "no quota").Do(Delete(kResourceQuotas, "none")).Await(ShardReady(), 120s);
  kubelet().FailImagePulls("shard", image_fails.ns(), false);
  Flow(image_fails, "the image").Await(ShardReady(), 120s);
  flow.Await(ShardsAre("True", "AsExpected"));
  if (flow.failed()) return;

  // An image that no node can pull, in whichever namespaces are the first.
  for (auto& made : scenes_) kubelet().FailImagePulls("shard", made->ns(), true);
  replaced = ReplaceOperator("test");
  ASSERT_TRUE(replaced) << replaced.error();
  flow.Await(ShardsAre("False", "UpgradeStopped"), 120s)
      .Check(ShardsAre("False", "ImagePull"))
      .Await(ClusterEvent("ShardUpgradeStopped", "ImagePull"));
  if (flow.failed()) return;
  flow.Await(AllReportFailure("test"));
  if (flow.failed()) return;
  Result<std::set<size_t>> stopped_at = Upgraded("test");
  ASSERT_TRUE(stopped_at) << stopped_at.error();
  std::cout << "stopped after " << stopped_at->size() << " of " << scenes_.size() << std::endl;
  EXPECT_LE(stopped_at->size(), 2 * kAtATime);
  flow.Stays(OnlyThese(*stopped_at, "test"), 10s);

  // The pods of a shard that failed are placed meanwhile, by the cluster controller.
  Flow(*scenes_[*stopped_at->begin()], "a shard that failed")
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Check(HasStatusCondition(kConfigs, "only", "Degraded", "True", "--image-pull-secrets"));

  for (auto& made : scenes_) kubelet().FailImagePulls("shard", made->ns(), false);
  flow.Await(AllHave("test"), 120s).Await(ShardsAre("True", "AsExpected"), 60s);
  for (auto& upgraded : scenes_) Flow(*upgraded, "after the upgrade").Await(ShardReady());
}

TEST_F(UpgradeFlow, TheLogVerbosityChangesWithoutARestart) {
  const std::string ops = cluster().operator_namespace();
  const std::pair<std::string, std::string> programs[] = {{"operator", ops},
                                                          {"cluster-controller", ops},
                                                          {"webhook", ops},
                                                          {"shard", scene().ns()},
                                                          {"webhook", scene().ns()}};
  // Its line may be followed by many others, so each program's is remembered.
  auto log = [&](const std::string& verbosity) {
    auto seen = std::make_shared<std::set<std::string>>();
    return Condition{.name = "all programs log " + verbosity,
                     .holds = [this, &programs, verbosity, seen](Scene&) -> Result<> {
                       std::string missing;
                       for (const auto& [program, ns] : programs) {
                         size_t shown = 0;
                         std::vector<PodProcess*> processes = kubelet().OfProgram(program, ns);
                         for (PodProcess* process : processes) {
                           std::string text = process->LogTail();
                           if (text.find("log verbosity: " + verbosity + "\n") != std::string::npos)
                             seen->insert(process->name());
                           shown += seen->count(process->name());
                         }
                         if (shown < processes.size()) missing += ns + "/" + program + " ";
                       }
                       if (missing.empty()) return Ok();
                       return Error::NotFound("missing: " + missing);
                     }};
  };
  auto pids = [&] {
    std::set<pid_t> all;
    for (const auto& [program, ns] : programs) {
      for (PodProcess* process : kubelet().OfProgram(program, ns)) {
        auto pid = process->pid();
        if (pid) all.insert(*pid);
      }
    }
    return all;
  };
  Flow flow(scene(), "log verbosity");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  if (flow.failed()) return;
  std::set<pid_t> before = pids();
  // This includes the operator's replica that does not lead.
  ASSERT_EQ(kubelet().OfProgram("operator", ops).size(), 2u);
  ASSERT_GE(before.size(), 7u);

  const std::string config(api::kClusterConfigName);
  flow.Do(Change(kClusterConfigs, config, {{"spec", {{"logVerbosity", "Debug"}}}}))
      .Await(log("Debug"));
  // What the owner of the namespace writes is replaced.
  flow.Do(Change(kConfigMaps, "pod-placement-settings", {{"data", {{"log-verbosity", "x"}}}}))
      .Await({"the settings are the operator's",
              [](Scene& scene) -> Result<> {
                auto settings = scene.Get(kConfigMaps, "pod-placement-settings");
                if (!settings) return settings.error();
                std::string verbosity = kube::StringAt(*settings, "data.log-verbosity");
                if (verbosity == "Debug") return Ok();
                return Error::NotFound("they are " + verbosity);
              }})
      .Do(Change(kClusterConfigs, config, {{"spec", {{"logVerbosity", "TraceAll"}}}}))
      .Await(log("TraceAll"));
  EXPECT_EQ(pids(), before);
}

}  // namespace
}  // namespace e2e
