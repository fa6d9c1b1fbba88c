// SPDX-License-Identifier: Apache-2.0
// With known images, the policy of the cluster gate answers as the webhook does: random pods, each
// created in a dry run under both. The policy may gate a pod that the webhook places, never the
// reverse, and both give a placed pod the same.
#include <array>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "e2e/framework/pod_history.h"
#include "image-facts/flows/facts_fixture.h"
#include "inspection/base/manifest.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

constexpr size_t kAsked = 300;

class RandomPods {
 public:
  // `unknown`: an image that few pods have.
  RandomPods(std::vector<std::string> known, std::string unknown)
      : images_(std::move(known)), unknown_(std::move(unknown)) {}

  Json MakeOne() {
    PodBuilder pod("probe");
    for (size_t n = 1 + Below(3); n > 0; --n) pod.Image(AnImage());
    if (Chance(8)) {
      Json init = {{"name", "init"}, {"image", AnImage()}};
      pod.Set("/spec/initContainers", Json::array({std::move(init)}));
    }
    if (Chance(12))
      pod.Set("/spec/containers/0/imagePullPolicy", Below(2) == 0 ? "Always" : "Never");
    if (Chance(10)) pod.NodeSelector("zone", "a");
    if (Chance(16)) pod.NodeSelector("kubernetes.io/arch", AnArchitecture());
    if (Chance(20)) pod.NodeSelector("kubernetes.io/os", "linux");
    if (Chance(16)) pod.Require("kubernetes.io/arch", {AnArchitecture()});
    if (Chance(16)) pod.Require("zone", {"a", "b"});
    if (Chance(16)) pod.Prefer(AnArchitecture(), 5);
    if (Chance(20)) pod.PullSecret("missing");
    if (Chance(20)) pod.Set("/spec/os", {{"name", "linux"}});
    if (Chance(20)) pod.Label(std::string(api::kNodeAffinityLabel), "set");
    if (Chance(20)) pod.Set("/metadata/labels/app", "web");
    if (Chance(16)) {
      Json gate = {{"name", "example.com/wait"}};
      pod.Set("/spec/schedulingGates", Json::array({std::move(gate)}));
    }
    return pod.Build();
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t n) { return Below(n) == 0; }
  const std::string& AnImage() { return Chance(10) ? unknown_ : images_[Below(images_.size())]; }
  std::string AnArchitecture() {
    constexpr std::array<const char*, 3> kAll = {"amd64", "arm64", "s390x"};
    return kAll[Below(kAll.size())];
  }

  std::vector<std::string> images_;
  std::string unknown_;
  std::mt19937 random_{1};
};

bool IsPlacedPod(const Json& pod) {
  const Json* labels = kube::Find(pod, "metadata.labels");
  return labels != nullptr && labels->contains(std::string(api::kPlacedAtCreationLabel));
}

// What both ways must agree about. The rest is the API server's: names of volumes, times.
Json Given(const Json& pod) {
  Json given;
  given["labels"] = pod["metadata"].value("labels", Json());
  for (const char* field : {"affinity", "tolerations", "nodeSelector", "schedulingGates"})
    given[field] = pod["spec"].value(field, Json());
  return given;
}

class PolicyAndWebhookFlow : public FactsFixture {
 protected:
  void SetUp() override {
    FactsFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    inspection::Publisher publisher(cluster().io(), registry_->port(), "");
    images_.push_back(image_);
    Push(publisher, "both", {"amd64", "s390x"});
    Push(publisher, "all", {"amd64", "arm64", "s390x"});
    Push(publisher, "arm", {"arm64"});
  }
  void Push(inspection::Publisher& publisher, const std::string& name,
            const std::vector<std::string>& architectures) {
    std::vector<std::string> entries;
    for (const std::string& architecture : architectures) {
      entries.push_back(
          publisher.PushEntry("team/" + name, {"linux", architecture}, inspection::kOciManifest));
    }
    publisher.PushIndex("team/" + name, "1", entries, inspection::kOciIndex);
    images_.push_back(registry_->host() + "/team/" + name + ":1");
  }

  // The answers to all pods, once every image is known.
  void Ask(const std::string& gating, std::vector<Json>& answers) {
    Result<> used = UseConfig(PlacingConfig().Prefer("s390x", 10).Set("/spec/gating", gating));
    ASSERT_TRUE(used) << used.error();
    Flow flow(scene(), "gating: " + gating);
    for (size_t i = 0; i < images_.size(); ++i) {
      // So that the image gets known, and is in use.
      const std::string name = (gating == "Policy" ? "p" : "w") + std::to_string(i);
      flow.Do(Create(MakePod(name).Image(images_[i])));
    }
    for (const std::string& image : images_) flow.Await(IsPlaced(image));
    RandomPods pods(images_, registry_->host() + "/team/absent:1");
    for (size_t i = 0; i < kAsked; ++i) {
      const Json pod = pods.MakeOne();
      Result<Json> answer = scene().CreateInADryRun(kPods, pod);
      ASSERT_TRUE(answer) << answer.error() << pod;
      answers.push_back(std::move(*answer));
    }
  }

  std::vector<std::string> images_;
};

TEST_F(PolicyAndWebhookFlow, GiveAPodTheSame) {
  if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  std::vector<Json> by_webhook, by_policy;
  ASSERT_NO_FATAL_FAILURE(Ask("Webhook", by_webhook));
  ASSERT_NO_FATAL_FAILURE(Ask("Policy", by_policy));
  int placed = 0, gated = 0, only_by_webhook = 0;
  for (size_t i = 0; i < kAsked; ++i) {
    SCOPED_TRACE(kube::DumpJson(by_policy[i]));
    if (IsPlacedPod(by_webhook[i]) && !IsPlacedPod(by_policy[i])) {
      EXPECT_TRUE(IsGated(by_policy[i]));
      ++only_by_webhook;
      continue;
    }
    EXPECT_EQ(Given(by_policy[i]), Given(by_webhook[i]));
    ++(IsPlacedPod(by_policy[i]) ? placed : gated);
  }
  std::cout << "figure: pods placed by both: " << placed << ", gated by both: " << gated
            << ", placed by the webhook alone: " << only_by_webhook << std::endl;
  EXPECT_GT(placed, 60);
  EXPECT_GT(gated, 60);
}

}  // namespace
}  // namespace e2e
