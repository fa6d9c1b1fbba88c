// SPDX-License-Identifier: Apache-2.0
// With knownImages: PlaceAtCreation, a pod of a known image is created with what it would get
// behind a gate; not where a PodPlacementConfig may change it.
#include "api/known_images.h"

#include <string>

#include "api/names.h"
#include "e2e/framework/pod_history.h"
#include "image-facts/flows/facts_fixture.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

const std::string kPlaced(api::kPlacedAtCreationLabel);

class KnownImagesFlow : public FactsFixture {
 protected:
  // Labels, affinity and tolerations of `placed` are those of the pod `gated`.
  Condition IsAsIfGated(const std::string& placed, const std::string& gated) {
    return OfPod(placed, "is as if it had been gated", [this, gated](const Json& pod) {
      const Json& other = scene().pods().Find(gated)->last();
      Json labels = pod["metadata"]["labels"];
      Json expected = other["metadata"]["labels"];
      labels.erase(kPlaced);
      labels.erase(std::string(api::kClusterGateLabel));
      expected.erase(std::string(api::kClusterGateLabel));
      auto same = [&](const char* field) {
        return pod["spec"].value(field, Json()) == other["spec"].value(field, Json());
      };
      return labels == expected && same("affinity") && same("tolerations");
    });
  }
};

TEST_F(KnownImagesFlow, APodOfAKnownImageHasItsRequirementFromTheStart) {
  Result<> used = UseConfig(PlacingConfig().Prefer("s390x", 10).Tolerate());
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "known images are placed at creation");
  flow.Do(Create(MakePod("gated").Image(image_)))
      .Await(WasGated("gated"))
      .Await(Requires("gated", {"s390x"}))
      .Await(IsPlaced(image_))
      .Do(Create(MakePod("placed").Image(image_)))
      .Await(Requires("placed", {"s390x"}))
      .Await(Prefers("placed", {{"s390x", 10}}))
      .Check(WasGated("placed", false))
      .Await(IsAsIfGated("placed", "gated"))
      // An image that no pod had yet.
      .Do(Create(MakePod("mixed").Image(image_).Image(Image("demo/multi:1"))))
      .Await(WasGated("mixed"));
}

TEST_F(KnownImagesFlow, WhereAConfigMayChangeThePodItIsGated) {
  Result<> used = UseConfig(PlacingConfig().Prefer("s390x", 10));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "known images and a PodPlacementConfig");
  flow.Do(Create(MakePod("first").Image(image_)))
      .Await(Requires("first", {"s390x"}))
      .Await(IsPlaced(image_))
      .Do(Create(MakeConfig("tolerates").Tolerate()))
      // From then on: the config is stored after the API server has stopped to place.
      .Do(Create(MakePod("tolerating").Image(image_)))
      .Await(Requires("tolerating", {"s390x"}))
      .Await(OfPod("tolerating", "has the config's toleration",
                   [](const Json& pod) {
                     return kube::DumpJson(pod["spec"]["tolerations"]).find("s390x") !=
                            std::string::npos;
                   }))
      .Do(Create(MakeConfig("prefers").Prefer("s390x", 70).Priority(1)))
      .Await(ShardReady())
      .Do(Create(MakePod("preferring").Image(image_)))
      .Await(Prefers("preferring", {{"s390x", 70}}))
      .Check(Requires("preferring", {"s390x"}))
      .Check(Annotated("preferring", std::string(api::kPreferredAffinitySourcesAnnotation),
                       "s390x:70:PodPlacementConfig-prefers,"
                       "s390x:10:ClusterPodPlacementConfig:skipped"))
      .Check(Annotated("preferring", std::string(api::kLocalConfigsAnnotation), "prefers"))
      .Check({.name = "preferring had the local gate alone",
              .holds = [](Scene& scene) -> Result<> {
                const Json& first = scene.pods().Find("preferring")->events[0].pod;
                bool only_local =
                    HasGate(first, api::kLocalGate) && !HasGate(first, api::kClusterGate);
                return only_local ? Ok() : Result<>(Error::Invalid(kube::DumpJson(first)));
              }})
      .Check(OfPod("preferring", "has the toleration of the other config",
                   [](const Json& pod) {
                     return kube::DumpJson(pod["spec"]["tolerations"]).find("s390x") !=
                            std::string::npos;
                   }))
      .Never(ClusterGateRemovedBeforeLocal());
}

// The API server places the pods itself.
TEST_F(KnownImagesFlow, WithoutWebhooksAPolicyPlacesThem) {
  if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  ClusterConfigBuilder config = PlacingConfig().Prefer("s390x", 10).Set("/spec/gating", "Policy");
  Result<> used = UseConfig(config);
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "known images are placed by policy");
  flow.Do(Create(MakePod("gated").Image(image_)))
      .Await(WasGated("gated"))
      .Await(Requires("gated", {"s390x"}))
      .Await(IsPlaced(image_))
      .Do(Create(MakePod("placed").Image(image_)))
      .Await(IsAsIfGated("placed", "gated"))
      .Check(WasGated("placed", false))
      // Until no policy has the image, the first config of the namespace is not stored.
      .Do(Create(MakeConfig("prefers").Prefer("s390x", 70)))
      .Do(Create(MakePod("preferring").Image(image_)))
      .Await(WasGated("preferring"))
      .Await(Prefers("preferring", {{"s390x", 70}}))
      .Check(Requires("preferring", {"s390x"}));
  used = UseConfig(DefaultClusterConfig().Set("/spec/gating", "Policy"));
  ASSERT_TRUE(used) << used.error();
  flow.Await(IsPlaced(image_, /*placed=*/false));
}

TEST_F(KnownImagesFlow, SwitchedOffAllPodsAreGated) {
  Result<> used = UseConfig(PlacingConfig());
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "switching it off");
  flow.Do(Create(MakePod("first").Image(image_)))
      .Await(Requires("first", {"s390x"}))
      .Await(IsPlaced(image_));
  used = UseConfig(DefaultClusterConfig());
  ASSERT_TRUE(used) << used.error();
  flow.Await(IsPlaced(image_, /*placed=*/false))
      .Do(Create(MakePod("gated").Image(image_)))
      .Await(WasGated("gated"))
      .Await(Requires("gated", {"s390x"}));
}

}  // namespace
}  // namespace e2e
