// SPDX-License-Identifier: Apache-2.0
// Pods that have gates of other controllers too, such as Kueue's: the requirement is set at once,
// tolerations with the last gate. Kueue is not installed; a stand-in removes its gates, and adds a
// node selector as Kueue does for the labels of a ResourceFlavor.
#include "e2e/framework/other_gates.h"

#include <cstdlib>
#include <iostream>
#include <random>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::Platform;
using kube::Error;
using kube::Ok;
using kube::Result;

const std::string kAdmission = "kueue.x-k8s.io/admission";
const std::string kTopology = "kueue.x-k8s.io/topology";
const std::string kArch(api::kArchLabel);

Json GateList(const std::vector<std::string>& gates) {
  Json list = Json::array();
  for (const std::string& gate : gates) list.push_back({{"name", gate}});
  return list;
}

std::vector<std::string> GatesOf(const Json& pod) {
  std::vector<std::string> gates = OtherGatesOf(pod);
  for (std::string_view gate : {api::kClusterGate, api::kLocalGate})
    if (HasGate(pod, gate)) gates.emplace_back(gate);
  return gates;
}

// Of the pod as it was read: a conflict is an error.
Json GatesPatch(const Json& pod, const std::vector<std::string>& gates) {
  return {{"metadata", {{"resourceVersion", kube::StringAt(pod, "metadata.resourceVersion")}}},
          {"spec", {{"schedulingGates", GateList(gates)}}}};
}

// As its controller does.
Step RemoveGate(const std::string& pod, const std::string& gate) {
  return {.name = "remove the gate " + gate + " of pod " + pod,
          .act = [pod, gate](Scene& scene) -> Result<> {
            while (true) {
              Result<Json> found = scene.Get(kPods, pod);
              if (!found) return found.error();
              std::vector<std::string> gates = GatesOf(*found);
              std::erase(gates, gate);
              Result<Json> patched = scene.Patch(kPods, pod, GatesPatch(*found, gates));
              if (patched) return Ok();
              if (!IsConflict(patched)) return patched.error();
            }
          },
          .pod = pod};
}

// It has the cluster gate, this requirement, and no tolerations.
Condition AwaitsOthers(const std::string& pod, std::vector<std::string> architectures) {
  return OfPod(pod, "is decided and awaits the gates of other controllers",
               [architectures](const Json& pod) {
                 return HasGate(pod, api::kClusterGate) && !OtherGatesOf(pod).empty() &&
                        RequirementsOf(pod) ==
                            std::vector<std::vector<std::string>>(1, architectures) &&
                        TolerationsOf(pod).empty();
               });
}

Condition Tolerates(const std::string& pod, const std::vector<std::string>& architectures) {
  std::vector<std::string> tolerations;
  for (const std::string& architecture : architectures)
    tolerations.push_back(kArch + "=" + architecture + ":NoSchedule");
  return OfPod(pod, "tolerates " + kube::DumpJson(Json(tolerations)),
               [tolerations](const Json& pod) {
                 return GatesOf(pod).empty() && TolerationsOf(pod) == tolerations;
               });
}

class OtherGatesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    auto used = UseClusterConfig(Config());
    ASSERT_TRUE(used) << used.error();
  }

  static ClusterConfigBuilder Config() {
    return DefaultClusterConfig().Set("/spec/plugins/architectureTolerations/enabled", true);
  }
  PodBuilder Queued(const std::string& name, const std::string& image,
                    const std::vector<std::string>& gates = {kAdmission}) {
    return MakePod(name).Image(image).Set("/spec/schedulingGates", GateList(gates));
  }
};

TEST_F(OtherGatesFlow, TolerationsComeWithTheLastGate) {
  Flow(scene(), "two gates of Kueue")
      .Do(Create(Queued("web", Image("demo/arm64-amd64:1"), {kAdmission, kTopology})))
      .Await(AwaitsOthers("web", {"amd64", "arm64"}))
      .Await(EventAbout("web", std::string(api::kReasonGateAdded), {kAdmission, kTopology}))
      .Check(Labelled("web", std::string(api::kClusterGateLabel), std::string(api::kGated)))
      .Do(RemoveGate("web", kAdmission))
      .Stays(AwaitsOthers("web", {"amd64", "arm64"}), 1s)
      .Do(RemoveGate("web", kTopology))
      .Await(Tolerates("web", {"amd64", "arm64"}))
      .Check(Requires("web", {"amd64", "arm64"}))
      .Never(OtherGatesNotAwaited())
      .Never(GateRemovedWithoutItsDecision());
}

// What placement/narrowing.h says about updates of gated pods.
TEST_F(OtherGatesFlow, TheApiServerOnlyLetsAGatedPodBecomeNarrower) {
  const std::string terms = "no additions/deletions to non-empty NodeSelectorTerms";
  auto affinity = [](const Json& of_terms) {
    Json required = {{"nodeSelectorTerms", of_terms}};
    return Json{
        {"spec",
         {{"affinity",
           {{"nodeAffinity",
             {{"requiredDuringSchedulingIgnoredDuringExecution", std::move(required)}}}}}}}};
  };
  auto term = [](const std::vector<std::vector<std::string>>& expressions) {
    Json list = Json::array();
    for (const std::vector<std::string>& values : expressions)
      list.push_back({{"key", kArch}, {"operator", "In"}, {"values", values}});
    return Json{{"matchExpressions", std::move(list)}};
  };
  Json both = term({{"amd64", "arm64"}}), narrower = term({{"amd64", "arm64"}, {"arm64"}});
  std::vector<std::string> more = {kAdmission, std::string(api::kClusterGate), "example.com/new"};
  Flow(scene(), "updates of a gated pod")
      .Do(Create(Queued("web", Image("demo/arm64-amd64:1"))))
      .Await(AwaitsOthers("web", {"amd64", "arm64"}))
      .Refused(Change(kPods, "web", {{"spec", {{"schedulingGates", GateList(more)}}}}),
               {"only deletion is allowed", "example.com/new"})
      .Refused(Change(kPods, "web", affinity(Json::array({term({{"arm64"}})}))),
               {"only additions are allowed"})
      .Refused(Change(kPods, "web", affinity(Json::array({both, both}))), {terms})
      .Refused(Change(kPods, "web", affinity(Json::array())), {"nodeSelectorTerms"})
      .Do(Change(kPods, "web", affinity(Json::array({narrower}))))
      .Do(RemoveGate("web", kAdmission))
      .Await(Ungated("web"));
}

// The tags move while the pods are in the queue.
TEST_F(OtherGatesFlow, TagsAreReadAgainBeforeTheLastGate) {
  const char* tmp = std::getenv("TEST_TMPDIR");
  std::string folder = std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns();
  inspection::DockerRegistry registry({.folder = folder, .storage = folder + "/storage"});
  inspection::Publisher publisher(cluster().io(), registry.port(), "");
  auto used = UseClusterConfig(
      Config(), "[[registry]]\nlocation = \"" + registry.host() + "\"\ninsecure = true\n");
  ASSERT_TRUE(used) << used.error();
  auto push = [&](const std::string& name, const std::vector<std::string>& architectures) {
    std::vector<std::string> entries;
    for (const std::string& architecture : architectures) {
      entries.push_back(publisher.PushEntry(
          "team/" + name, {"linux", architecture}, inspection::kOciManifest,
          R"(,"platform":{"os":"linux","architecture":")" + architecture + "\"}"));
    }
    publisher.PushIndex("team/" + name, "1", entries, inspection::kOciIndex);
  };
  const std::vector<std::string> names = {"less", "more", "other"};
  Flow flow(scene(), "moved tags");
  for (const std::string& name : names) {
    push(name, {"amd64", "arm64"});
    // A tag is cached for a minute, except with this policy.
    flow.Do(Create(Queued(name, registry.host() + "/team/" + name + ":1")
                       .Set("/spec/containers/0/imagePullPolicy", "Always")))
        .Await(AwaitsOthers(name, {"amd64", "arm64"}));
  }
  // I5: beside a term that gets the requirement, one with an architecture of the author.
  push("own", {"amd64", "arm64"});
  Json spare = {{"key", "spare"}, {"operator", "DoesNotExist"}};
  Json amd64 = {{"key", kArch}, {"operator", "In"}, {"values", {"amd64"}}};
  Json terms = Json::array(
      {{{"matchExpressions", Json::array({amd64})}}, {{"matchExpressions", Json::array({spare})}}});
  flow.Do(Create(Queued("own", registry.host() + "/team/own:1")
                     .Set("/spec/containers/0/imagePullPolicy", "Always")
                     .Set("/spec/affinity/nodeAffinity/"
                          "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
                          terms)))
      .Await(OfPod("own", "requires both architectures in its second term", [](const Json& pod) {
        return RequirementsOf(pod) ==
               std::vector<std::vector<std::string>>{{"amd64"}, {"amd64", "arm64"}};
      }));
  push("own", {"arm64"});
  flow.Do(RemoveGate("own", kAdmission));
  push("less", {"arm64", "s390x"});
  push("more", {"amd64", "arm64", "s390x"});
  push("other", {"s390x"});
  for (const std::string& name : names) flow.Do(RemoveGate(name, kAdmission));
  flow.Await(Tolerates("less", {"arm64"}))
      .Check(OfPod("less", "requires arm64 too",
                   [](const Json& pod) {
                     return RequirementsOf(pod) ==
                            std::vector<std::vector<std::string>>{{"amd64", "arm64", "arm64"}};
                   }))
      .Check(Labelled("less", std::string(api::kLabelPrefix) + "arm64", ""))
      .Check(OfPod("less", "has no label of amd64",
                   [](const Json& pod) {
                     return !HasLabel(pod, std::string(api::kLabelPrefix) + "amd64", "");
                   }))
      .Await(Tolerates("more", {"amd64", "arm64"}))
      .Check(Requires("more", {"amd64", "arm64"}))
      .Await(Tolerates("other", {}))
      .Check(OfPod("other", "can run nowhere",
                   [](const Json& pod) {
                     return HasLabel(pod, std::string(api::kNoSupportedArchLabel), "");
                   }))
      .Await(EventAbout("other", std::string(api::kReasonNoSupportedArchitectures)))
      .Await(Tolerates("own", {"arm64"}))
      .Check(OfPod("own", "requires arm64 too in its second term alone",
                   [](const Json& pod) {
                     return RequirementsOf(pod) == std::vector<std::vector<std::string>>{
                                                       {"amd64"}, {"amd64", "arm64", "arm64"}};
                   }))
      .Never(OtherGatesNotAwaited())
      .Never(GateRemovedWithoutItsDecision());
}

// The cluster controller, which does the shard's work, reads the configs again for the last gate.
TEST_F(OtherGatesFlow, ATakenOverPodGetsTheTolerationsOfItsNamespace) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  const std::vector<ProgramIn> shard = {{"shard", scene().ns()}};
  Flow flow(scene(), "a takeover of a pod in a queue");
  flow.Do(Create(MakeConfig("pool")
                     .Prefer("arm64", 77)
                     .Set("/spec/plugins/architectureTolerations/enabled", true)))
      .Await(ShardReady());
  flow.Do(StopPrograms(shard))
      .Await(NoProcessOf(shard))
      .Do(Create(Queued("web", Image("demo/arm64-amd64:1"))))
      .Await(EventAbout("web", std::string(api::kReasonShardTakeover)))
      .Await(AwaitsOthers("web", {"amd64", "arm64"}))
      .Check(Labelled("web", std::string(api::kLocalGateLabel), std::string(api::kRemoved)))
      .Check(Annotated("web", std::string(api::kLocalTolerationsAnnotation), "pool"))
      .Do(RemoveGate("web", kAdmission))
      .Await(Tolerates("web", {"amd64", "arm64"}))
      .Check(Prefers("web", {{"arm64", 77}}))
      .Never(OtherGatesNotAwaited())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  StartPrograms(shard);
}

// I7: the deletion does not wait for other controllers.
TEST_F(OtherGatesFlow, TheDeletionOfTheClusterConfigRemovesTheGateAtOnce) {
  Flow(scene(), "the ClusterPodPlacementConfig is deleted")
      // Of earlier flows, which would keep it from being deleted.
      .Await(NoConfigAnywhere(), 120s)
      .Do(Create(Queued("web", Image("demo/arm64-amd64:1"))))
      .Await(AwaitsOthers("web", {"amd64", "arm64"}))
      .Do(Delete(kClusterConfigs, std::string(api::kClusterConfigName)))
      .Await(Ungated("web"))
      .Await(Absent(kClusterConfigs, std::string(api::kClusterConfigName)))
      .Check(OfPod("web", "has Kueue's gate and no tolerations",
                   [](const Json& pod) {
                     return GatesOf(pod) == std::vector{kAdmission} && TolerationsOf(pod).empty();
                   }))
      .Never(GateRemovedWithoutItsDecision());
}

// Removes gates of random pods in any order, tries to add some, replaces pods by ones with other
// gates, and restarts the cluster controller.
class RandomGates {
 public:
  RandomGates(Scene& scene, std::vector<std::string> images)
      : scene_(scene), images_(std::move(images)) {}

  Result<> CreatePod(const std::string& name) {
    std::vector<std::string> gates;
    for (const std::string& gate : {kAdmission, kTopology, std::string("example.com/quota")})
      if (Draw(2) == 0) gates.push_back(gate);
    PodBuilder pod = MakePod(name).Image(images_[Draw(images_.size())]);
    if (!gates.empty()) pod.Set("/spec/schedulingGates", GateList(gates));
    Result<Json> created = scene_.Create(kPods, pod.Build());
    if (!created) return created.error();
    return Ok();
  }

  // False: no pod has a gate of another controller any more.
  Result<bool> Step() {
    Result<std::vector<Json>> pods = scene_.List(kPods);
    if (!pods) return pods.error();
    std::erase_if(*pods, [](const Json& pod) {
      return IsOperand(pod) || OtherGatesOf(pod).empty() ||
             kube::Find(pod, "metadata.deletionTimestamp") != nullptr;
    });
    if (pods->empty()) return false;
    const Json& pod = (*pods)[Draw(pods->size())];
    Result<> done = Ok();
    switch (Draw(8)) {
      case 0:
        done = AddGate(pod);
        break;
      case 1:
        done = replaced_++ < 15 ? Replace(pod) : Remove(pod);
        break;
      default:
        done = Remove(pod);
    }
    if (!done && !IsConflict(done) && !IsNotFound(done)) return done.error();
    return true;
  }

  size_t Draw(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }

 private:
  Result<> Remove(const Json& pod) {
    std::vector<std::string> others = OtherGatesOf(pod), gates = GatesOf(pod);
    std::erase(gates, others[Draw(others.size())]);
    Json patch = GatesPatch(pod, gates);
    if (Draw(3) == 0) patch["spec"]["nodeSelector"]["pool"] = "flavor";
    Result<Json> patched = scene_.Patch(kPods, kube::StringAt(pod, "metadata.name"), patch);
    if (!patched) return patched.error();
    return Ok();
  }
  Result<> AddGate(const Json& pod) {
    std::vector<std::string> gates = GatesOf(pod);
    gates.push_back("example.com/again");
    Result<Json> patched =
        scene_.Patch(kPods, kube::StringAt(pod, "metadata.name"), GatesPatch(pod, gates));
    if (patched) return Error::Internal("the API server has accepted another gate");
    if (patched.error().code() == kube::Code::kInvalid) return Ok();
    return patched.error();
  }
  Result<> Replace(const Json& pod) {
    Result<> deleted = scene_.Delete(kPods, kube::StringAt(pod, "metadata.name"));
    if (!deleted) return deleted;
    return CreatePod("again-" + std::to_string(replaced_));
  }

  Scene& scene_;
  std::vector<std::string> images_;
  // A failure is found again with the same numbers.
  std::mt19937 random_{20261126};
  int replaced_ = 0;
};

TEST_F(OtherGatesFlow, GatesOfOthersComeAndGoAtRandom) {
  constexpr int kPodsAtFirst = 40;
  Flow flow(scene(), "random gates");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 33))).Await(ShardReady());
  ASSERT_FALSE(flow.failed());
  RandomGates random(scene(),
                     {Image("demo/multi:1"), Image("demo/arm64-amd64:1"), Image("demo/amd64:1")});
  for (int i = 0; i < kPodsAtFirst; ++i) {
    Result<> created = random.CreatePod("web-" + std::to_string(i));
    ASSERT_TRUE(created) << created.error();
  }
  int steps = 0;
  for (;; ++steps) {
    Result<bool> more = random.Step();
    ASSERT_TRUE(more) << more.error();
    if (!*more) break;
    if (steps % 40 == 20) {
      for (PodProcess* process : TheProcessCluster().kubelet().OfProgram(
               "cluster-controller", cluster().operator_namespace()))
        process->Crash();
    }
    cluster().Pause(std::chrono::milliseconds(random.Draw(50)));
  }
  std::cout << "random gates: " << steps << " steps" << std::endl;
  flow.Await(AllUngated(kPodsAtFirst))
      .Never(OtherGatesNotAwaited())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision())
      .Never(CreatedWithoutClusterGate());

  // Complete: no pod lacks what another one has.
  for (const PodHistory* history : scene().pods().All()) {
    const Json& pod = history->last();
    if (history->deleted() || IsOperand(pod)) continue;
    std::vector<std::vector<std::string>> required = RequirementsOf(pod);
    ASSERT_EQ(required.size(), 1u) << history->name;
    flow.Check(Tolerates(history->name, required[0]))
        .Check(Prefers(history->name, {{"arm64", 33}}));
  }
}

}  // namespace
}  // namespace e2e
