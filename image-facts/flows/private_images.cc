// SPDX-License-Identifier: Apache-2.0
// What was read with a pull secret places the pods that name it, and tells others nothing.
#include <string>
#include <vector>

#include "image-facts/flows/facts_fixture.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

class PrivateImagesFlow : public PrivateFactsFixture {
 protected:
  // The API server's answer to who would create the pod, without what differs each time.
  static Result<std::string> AnswerFor(Scene& scene, const std::string& image,
                                       const std::vector<std::string>& secrets) {
    PodBuilder pod = MakePod("probe").Image(image);
    pod.Set("/spec/automountServiceAccountToken", false);
    for (const std::string& secret : secrets) pod.PullSecret(secret);
    Result<Json> answer = scene.CreateInADryRun(kPods, pod.Build());
    if (!answer) return answer.error();
    if (!IsGated(*answer)) return Error::Invalid("the pod is not gated");
    for (const char* field : {"uid", "creationTimestamp", "managedFields"})
      (*answer)["metadata"].erase(field);
    answer->erase("status");
    std::string text = kube::DumpJson(*answer);
    for (size_t at; (at = text.find(image)) != std::string::npos;)
      text.replace(at, image.size(), "IMAGE");
    return text;
  }
  // Whoever has only `secrets` cannot tell that the image is known.
  Condition TellsNothing(const std::string& image, const std::vector<std::string>& secrets) {
    return {
        .name = "a pod with " + std::to_string(secrets.size()) + " other secrets learns nothing",
        .holds = [=, this](Scene& scene) -> Result<> {
          Result<std::string> known = AnswerFor(scene, image, secrets);
          if (!known) return known.error();
          Result<std::string> unknown =
              AnswerFor(scene, registry_->host() + "/team/nobody:1", secrets);
          if (!unknown) return unknown.error();
          return *known == *unknown ? Ok() : Result<>(Error::Invalid(*known + "\nand " + *unknown));
        }};
  }
};

TEST_F(PrivateImagesFlow, WhatAPullSecretReadsServesItsPodsAlone) {
  Result<> used = UseConfig(PlacingConfig());
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "known images of a private registry");
  flow.Do(CreateSecret("right", "secret"))
      .Do(CreateSecret("wrong", "guess"))
      .Do(Create(MakePod("first").Image(image_).PullSecret("right")))
      .Await(WasGated("first"))
      .Await(Requires("first", {"s390x"}))
      .Await(IsPlaced(MakePod("probe").Image(image_).PullSecret("right")))
      .Do(Create(MakePod("placed").Image(image_).PullSecret("right")))
      .Await(Requires("placed", {"s390x"}))
      .Check(WasGated("placed", false))
      .Check(TellsNothing(image_, {}))
      .Check(TellsNothing(image_, {"wrong"}))
      .Check(TellsNothing(image_, {"absent"}))
      .Check(TellsNothing(image_, {"wrong", "right"}));
}

}  // namespace
}  // namespace e2e
