// SPDX-License-Identifier: Apache-2.0
// The architectures of the images become the requirement of the pod: single manifests and indexes,
// OCI and Docker, and images that cannot be inspected. From the test plan of the operator
// enhancement.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

struct ImageCase {
  const char* name;
  const char* image;
  std::vector<std::string> architectures;
};

// What e2e/cluster/images/push_demo.py pushes.
const ImageCase kImages[] = {
    // An OCI index with attestations, which are not images.
    {"multi", "demo/multi:1", {"amd64", "arm64", "ppc64le", "s390x"}},
    // A Docker manifest list.
    {"pair", "demo/arm64-amd64:1", {"amd64", "arm64"}},
    {"power-and-z", "demo/ppc64le-s390x:1", {"ppc64le", "s390x"}},
    // Single manifests: OCI and Docker schema 2.
    {"amd64", "demo/amd64:1", {"amd64"}},
    {"arm64", "demo/arm64:1", {"arm64"}},
    {"ppc64le", "demo/ppc64le:1", {"ppc64le"}},
    {"s390x", "demo/s390x:1", {"s390x"}},
};

class ImagesFlow : public FlowFixture {};

TEST_F(ImagesFlow, DecideWhereAPodMayRun) {
  Flow flow(scene(), "images decide where a pod may run");
  for (const ImageCase& image : kImages)
    flow.Do(Create(MakePod(image.name).Image(Image(image.image))));
  for (const ImageCase& image : kImages) {
    const auto& label =
        image.architectures.size() == 1 ? api::kSingleArchLabel : api::kMultiArchLabel;
    flow.Await(Requires(image.name, image.architectures))
        .Check(Labelled(image.name, std::string(label), ""))
        .Await(ScheduledOn(image.name, image.architectures));
    for (const std::string& architecture : image.architectures) {
      flow.Check(Labelled(image.name, std::string(api::kLabelPrefix) + architecture, ""));
    }
  }
  flow.Never(CreatedWithoutClusterGate())
      .Never(GateRemovedWithoutItsDecision())
      .Never(HadLocalGate());
}

// The same for Deployments, whose pods have generated names.
TEST_F(ImagesFlow, DecideForDeployments) {
  Flow(scene(), "a Deployment is scheduled on its architectures")
      .Do(Create(MakeDeployment("z", MakePod("").Image(Image("demo/s390x:1"))).Replicas(3)))
      .Await(RolledOut("z"))
      .Check(AllUngated(3));
  for (const PodHistory* pod : scene().pods().All()) {
    EXPECT_EQ(NodeOf(pod->last()).find("s390x") != std::string::npos, true)
        << scene().Describe(pod->name);
    Flow(scene(), "events about " + pod->name)
        .Await(EventAbout(pod->name, std::string(api::kReasonGateAdded)))
        .Await(EventAbout(pod->name, std::string(api::kReasonPredicateSet)))
        .Await(EventAbout(pod->name, std::string(api::kReasonGateRemoved)));
  }
}

TEST_F(ImagesFlow, AllContainersDecideTogether) {
  Flow(scene(), "architectures in common")
      .Do(Create(MakePod("both").Image(Image("demo/multi:1")).Image(Image("demo/arm64-amd64:1"))))
      .Await(Requires("both", {"amd64", "arm64"}))
      .Do(Create(MakePod("init")
                     .Image(Image("demo/multi:1"))
                     .Set("/spec/initContainers",
                          Json::array({MakePod("")
                                           .Image(Image("demo/ppc64le-s390x:1"))
                                           .Build()["spec"]["containers"][0]})
                              .patch(Json::array(
                                  {{{"op", "replace"}, {"path", "/0/name"}, {"value", "init"}}})))))
      .Await(Requires("init", {"ppc64le", "s390x"}));
}

TEST_F(ImagesFlow, WithoutACommonArchitectureAPodStaysPendingWithAnEvent) {
  Flow(scene(), "no common architecture")
      .Do(Create(MakePod("torn").Image(Image("demo/arm64:1")).Image(Image("demo/s390x:1"))))
      .Await(Ungated("torn"))
      .Check(Labelled("torn", std::string(api::kNoSupportedArchLabel), ""))
      .Await(EventAbout("torn", std::string(api::kReasonNoSupportedArchitectures)))
      .Stays(OfPod("torn", "is on no node", [](const Json& pod) { return NodeOf(pod).empty(); }),
             1s);
}

// After five failed inspections the pod is ungated without a requirement (I3).
TEST_F(ImagesFlow, ThatCannotBeInspectedDoNotKeepAPodGated) {
  Flow(scene(), "an image that does not exist")
      .Do(Create(MakePod("lost").Image(Image("demo/nowhere:1"))))
      .Await(EventAbout("lost", std::string(api::kReasonInspectionError)))
      .Await(Ungated("lost"), 240s)
      .Check(OfPod("lost", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }))
      .Never(GateRemovedWithoutItsDecision());
}

TEST_F(ImagesFlow, ThatCannotBeInspectedGetTheFallbackArchitecture) {
  auto used = UseClusterConfig(DefaultClusterConfig().Fallback("ppc64le"));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "fallback architecture")
      .Do(Create(MakePod("lost").Image(Image("demo/nowhere:1"))))
      .Await(Requires("lost", {"ppc64le"}), 240s)
      .Check(Labelled("lost", std::string(api::kFallbackArchLabel), "ppc64le"))
      .Await(EventAbout("lost", std::string(api::kReasonFallbackSet)));
}

}  // namespace
}  // namespace e2e
