// SPDX-License-Identifier: Apache-2.0
// As many facts as there can be: the webhook that places pods by them, the cluster controller that
// reads them at its start, and the operator that writes a policy of them stay far below their
// memory limits.
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "e2e/cluster_harness/memory_use.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "image-facts/flows/facts_fixture.h"
#include "image-facts/image_facts.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using image_facts::ImageFact;
using image_facts::ImageFacts;
using kube::Error;
using kube::Ok;
using kube::Result;

// docs/reference.md, Limits.
constexpr int kObjects = 64;
// With some 10,000 facts.
constexpr int kSomeObjects = 6;
// As many as fit into 224 KiB: the controller would drop others, and write the object again.
constexpr int kFacts = 1'680;

std::string NameOf(int object) { return "image-facts-" + std::to_string(object); }

// An object of the largest size, of names that are as long as usual ones.
ImageFacts Full(int object, const std::string& configuration, image_facts::Seconds now) {
  ImageFacts full;
  full.configuration = configuration;
  placement::ImagePlatforms platforms;
  platforms.platforms = {{"linux", "amd64"}, {"linux", "arm64"}};
  auto shared = std::make_shared<const placement::ImagePlatforms>(std::move(platforms));
  for (int i = 0; i < kFacts; ++i) {
    std::string number = std::to_string(object * 10'000 + i + 1'000'000);
    full.facts.push_back({.image = "r.io/t/app:" + number,
                          .digest = "sha256:" + std::string(57, 'a') + number,
                          .platforms = shared,
                          .read = now});
  }
  return full;
}

// The image that is placed when the webhook knows the first `objects`.
std::string LastOf(int objects) {
  return Full(objects - 1, "", image_facts::Seconds()).facts.back().image;
}

class ManyFactsFlow : public FactsFixture {
 protected:
  void TearDown() override {
    for (int object = 0; object < kObjects; ++object) {
      Result<> deleted =
          cluster().Run(kube::DeleteObject(cluster().client(), kube::ResourceOf<ImageFacts>::value,
                                           {cluster().operator_namespace(), NameOf(object)}));
      EXPECT_TRUE(deleted || IsNotFound(deleted)) << deleted.error();
    }
    // The leader has them in memory.
    Restart({{"cluster-controller", cluster().operator_namespace()}});
    FactsFixture::TearDown();
  }

  void Restart(const std::vector<ProgramIn>& programs) {
    Flow(scene(), "restart").Do(StopPrograms(programs)).Await(NoProcessOf(programs));
    StartPrograms(programs);
  }

  // Replaces what is stored.
  void Store(int first_object, int end_object, const std::string& configuration,
             std::chrono::seconds age) {
    auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (int object = first_object; object < end_object; ++object) {
      ImageFacts full = Full(object, configuration, now - age);
      full.mutable_metadata()->set_name(NameOf(object));
      full.mutable_metadata()->set_namespace_(cluster().operator_namespace());
      kube::ObjectKey key = kube::KeyOf(full);
      auto stored = cluster().Run(kube::Get<ImageFacts>(cluster().client(), key));
      Result<> done = Ok();
      if (stored) {
        full.mutable_metadata()->set_resource_version(stored->metadata().resource_version());
        done = cluster().Run(kube::Replace(cluster().client(), full));
      } else {
        auto created = cluster().Run(kube::Create(cluster().client(), full));
        if (!created) done = created.error();
      }
      ASSERT_TRUE(done) << done.error();
    }
  }
};

TEST_F(ManyFactsFlow, FitIntoEachProgram) {
#ifdef BUILT_WITH_SANITIZER
  GTEST_SKIP() << "a sanitizer build needs more memory";
#endif
  Result<> used = UseConfig(PlacingConfig());
  ASSERT_TRUE(used) << used.error();
  const std::string& ops = cluster().operator_namespace();
  Flow flow(scene(), "many facts");
  flow.Do(Create(MakePod("first").Image(image_))).Await(IsStored(image_)).Await(IsPlaced(image_));
  if (flow.failed()) return;
  ExpectFarBelowLimit("webhook", ops, "with one fact");
  kube::ListOptions options{.ns = cluster().operator_namespace()};
  auto objects = cluster().Run(kube::List<ImageFacts>(cluster().client(), std::move(options)));
  ASSERT_TRUE(objects) << objects.error();
  ASSERT_FALSE(objects->items.empty());
  const std::string configuration = objects->items.front().configuration;
  Store(0, kSomeObjects, configuration, 60s);
  flow.Await(IsPlaced(LastOf(kSomeObjects)));
  ExpectFarBelowLimit("webhook", ops, "with 10,000 facts");
  Store(kSomeObjects, kObjects, configuration, 0s);
  const std::string last = LastOf(kObjects);
  flow.Await(IsPlaced(last));
  ExpectFarBelowLimit("webhook", ops, "with all facts by a watch");

  Restart({{"webhook", cluster().operator_namespace()},
           {"cluster-controller", cluster().operator_namespace()}});
  flow.Await(IsPlaced(last));
  ExpectFarBelowLimit("webhook", ops, "with all facts by a list");
  ExpectFarBelowLimit("cluster-controller", ops, "with all facts by a list");

  // The policy has the newest, of these the first by name.
  if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  used = UseConfig(PlacingConfig().Set("/spec/gating", api::kGatingByPolicy));
  ASSERT_TRUE(used) << used.error();
  const std::string first = Full(kSomeObjects, "", image_facts::Seconds()).facts.front().image;
  flow.Await(IsPlaced(last, /*placed=*/false)).Await(IsPlaced(first));
  ExpectFarBelowLimit("operator", ops, "with all facts, for a policy");
}

}  // namespace
}  // namespace e2e
