// SPDX-License-Identifier: Apache-2.0
// Pods whose architectures no node has and no NodePool offers, on a real API server: the event, and
// that a node or a NodePool is enough. Karpenter is not needed: its kind is, from a CRD as small as
// can be.
#include <cstdlib>
#include <string>

#include "api/node_offers.h"
#include "e2e/cluster_harness/nodes.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/own_nodes.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::DockerRegistry;
using inspection::Publisher;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kCrd[] = "nodepools.karpenter.sh";
constexpr Resource kNodePools{"karpenter.sh", "v1", "nodepools", "NodePool", false};
// The controller lists nodes at most once a minute.
constexpr auto kNextList = 150s;

class OfferedArchitecturesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    for (const char* architecture : {"riscv64", "loong64", "mips64le"})
      publisher_.PushImage(architecture, "1", {"linux", architecture}, inspection::kOciManifest);
    // Without preferences, a pod that names its architecture itself is not gated.
    auto used = UseClusterConfig(
        DefaultClusterConfig().Prefer("amd64", 1),
        "[[registry]]\nlocation = \"" + registry_.host() + "\"\ninsecure = true\n");
    ASSERT_TRUE(used) << used.error();
  }
  void TearDown() override {
    // With its objects.
    kube::IgnoreError(scene().Delete(kube::kCustomResourceDefinitions, kCrd), "it may be absent");
    FlowFixture::TearDown();
  }

  // A pod whose image is for this architecture alone.
  PodBuilder PodFor(const std::string& name, const std::string& architecture) {
    return MakePod(name).Image(registry_.host() + "/" + architecture + ":1");
  }
  Condition HasEvent(const std::string& pod, const std::string& architecture) {
    return EventAbout(pod, std::string(api::kReasonNoNodeOffersArchitecture),
                      {"No node now has", "no NodePool offers one: " + architecture});
  }
  Condition HasNoEvent(const std::string& pod) {
    Condition has = EventAbout(pod, std::string(api::kReasonNoNodeOffersArchitecture));
    return {.name = "no " + has.name,
            .holds = [has](Scene& scene) -> Result<> {
              if (has.holds(scene)) return Error::AlreadyExists(has.name);
              return Ok();
            },
            .pod = pod};
  }

  static Json NodePoolsCrd() {
    Json version = {{"name", "v1"}, {"served", true}, {"storage", true}};
    version["schema"]["openAPIV3Schema"] = {{"type", "object"},
                                            {"x-kubernetes-preserve-unknown-fields", true}};
    Json crd = {{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}};
    crd["metadata"]["name"] = kCrd;
    crd["spec"] = {{"group", "karpenter.sh"},
                   {"scope", "Cluster"},
                   {"names", {{"plural", "nodepools"}, {"kind", "NodePool"}}},
                   {"versions", Json::array({std::move(version)})}};
    return crd;
  }
  // Holds once the API server serves the CRD and has the NodePool.
  Condition NodePoolIsCreated(const std::string& architecture) {
    Json requirement = {{"key", std::string(api::kArchLabel)}, {"operator", "In"}};
    requirement["values"] = Json::array({architecture});
    Json pool = {{"apiVersion", "karpenter.sh/v1"}, {"kind", "NodePool"}};
    pool["metadata"]["name"] = scene().ns();
    pool["spec"]["template"]["spec"]["requirements"] = Json::array({std::move(requirement)});
    return {.name = "the NodePool is created", .holds = [pool](Scene& scene) -> Result<> {
              auto created = scene.Create(kNodePools, pool);
              if (!created && created.error().code() != kube::Code::kAlreadyExists)
                return created.error();
              return Ok();
            }};
  }
  Step AddNode(const std::string& architecture) {
    Json node = MakeNode(architecture + "-of-" + scene().ns(), architecture);
    // No other pod is to be scheduled there; the labels are what counts.
    node["spec"]["taints"] =
        Json::array({{{"key", "pool"}, {"value", scene().ns()}, {"effect", "NoSchedule"}}});
    return nodes_.Add(std::move(node));
  }

  OwnNodes nodes_;
  const char* parent_ = std::getenv("TEST_TMPDIR");
  std::string folder_ =
      std::string(parent_ == nullptr ? "/tmp" : parent_) + "/offered-architectures";
  DockerRegistry registry_{{.folder = folder_, .storage = folder_ + "/storage"}};
  Publisher publisher_{cluster().io(), registry_.port(), ""};
};

TEST_F(OfferedArchitecturesFlow, AnEventSaysThatNoNodeIsForThePod) {
  Flow(scene(), "images for architectures without nodes")
      .Do(Create(PodFor("riscv", "riscv64")))
      .Do(Create(PodFor("loong", "loong64")))
      .Do(Create(MakePod("own")
                     .Image(Image("demo/multi:1"))
                     .NodeSelector(std::string(api::kArchLabel), "mips64le")))
      .Await(Requires("riscv", {"riscv64"}))
      .Await(HasEvent("riscv", "riscv64"), kNextList)
      .Await(HasEvent("loong", "loong64"), kNextList)
      .Await(HasEvent("own", "mips64le"), kNextList)

      .Do(Create(kube::kCustomResourceDefinitions, NodePoolsCrd()))
      .Await(NodePoolIsCreated("riscv64"))
      .Do(AddNode("loong64"))
      .Do(Create(PodFor("of-pool", "riscv64")))
      .Do(Create(PodFor("of-node", "loong64")))
      .Await(Requires("of-pool", {"riscv64"}))
      .Await(Requires("of-node", {"loong64"}))
      // Released later, so its event would be later than theirs.
      .Do(Create(PodFor("of-none", "mips64le")))
      .Await(HasEvent("of-none", "mips64le"), kNextList)
      .Check(HasNoEvent("of-pool"))
      .Check(HasNoEvent("of-node"))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
