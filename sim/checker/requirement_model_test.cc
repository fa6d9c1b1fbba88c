// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/requirement_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Image For(std::vector<ImagePlatform> platforms) { return {.platforms = std::move(platforms)}; }

const Image kBoth = For({{"linux", "amd64"}, {"linux", "arm64"}});
const Image kAmd = For({{"linux", "amd64"}});
const Image kArm = For({{"linux", "arm64"}});
const Image kWindows = For({{"windows", "amd64"}});
const Image kBundle = {.platforms = {{"linux", "amd64"}}, .bundle = true};

Json TermWith(const std::string& key, const std::string& op, std::vector<std::string> values) {
  return {
      {"matchExpressions", Json::array({{{"key", key}, {"operator", op}, {"values", values}}})}};
}

Json WithTerms(Json pod, Json terms) {
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
     ["nodeSelectorTerms"] = std::move(terms);
  return pod;
}

Architectures Of(const Json& pod, const std::vector<Image>& images) {
  RequirementAnswer answer = Require(pod, CommonOf(images));
  EXPECT_EQ(answer.not_judged, "");
  return answer.architectures;
}

TEST(CommonPlatforms, OfSeveralImages) {
  Json pod = Pod("web");
  EXPECT_THAT(Of(pod, {kBoth, kAmd}), ElementsAre("amd64"));
  EXPECT_THAT(Of(pod, {kAmd, kArm}), IsEmpty());
  EXPECT_THAT(Of(pod, {kArm, kBundle}), ElementsAre("arm64"));
  EXPECT_THAT(Of(pod, {kBundle}), ElementsAre("amd64", "arm64", "ppc64le", "s390x"));
  EXPECT_THAT(Of(pod, {}), ElementsAre("amd64", "arm64", "ppc64le", "s390x"));
}

TEST(CommonPlatforms, OtherNamesAndNamesThatDoNotCount) {
  Image image = For({{"linux", "x86_64"},
                     {"linux", "aarch64"},
                     {"linux", "armel"},
                     {"linux", "i686"},
                     {"linux", "unknown"},
                     {"unknown", "s390x"},
                     {"linux", "not-a-name"}});
  EXPECT_THAT(Of(Pod("web"), {image}), ElementsAre("386", "amd64", "arm", "arm64"));
}

TEST(CommonPlatforms, AtMost32) {
  Image image;
  for (char a = 'a'; a < 'h'; ++a) {
    for (char b = 'a'; b < 'h'; ++b) image.platforms.push_back({"linux", {a, b}});
  }
  EXPECT_EQ(Of(Pod("web"), {image}).size(), 32u);
}

TEST(OperatingSystems, LinuxUnlessAllImagesAreOfOneOther) {
  Json pod = Pod("web");
  RequirementAnswer answer = Require(pod, CommonOf({kWindows}));
  EXPECT_THAT(answer.architectures, ElementsAre("amd64"));
  EXPECT_THAT(answer.terms[0]->systems, ElementsAre("windows"));
  EXPECT_NE(Require(pod, CommonOf({For({{"windows", "amd64"}, {"freebsd", "amd64"}})})).not_judged,
            "");
}

TEST(OperatingSystems, ThatThePodNames) {
  Image image = For({{"linux", "arm64"}, {"windows", "amd64"}});
  Json by_selector = Pod("web");
  by_selector["spec"]["nodeSelector"]["kubernetes.io/os"] = "windows";
  RequirementAnswer answer = Require(by_selector, CommonOf({image}));
  EXPECT_THAT(answer.architectures, ElementsAre("amd64"));
  EXPECT_THAT(answer.terms[0]->systems, IsEmpty());
  // The scheduler takes no notice of spec.os.
  Json by_spec = Pod("web");
  by_spec["spec"]["os"]["name"] = "windows";
  EXPECT_THAT(Require(by_spec, CommonOf({image})).terms[0]->systems, ElementsAre("windows"));
  Json by_term = WithTerms(Pod("web"), Json::array({TermWith("kubernetes.io/os", "In", {"windows"}),
                                                    TermWith("zone", "In", {"a"})}));
  answer = Require(by_term, CommonOf({image}));
  EXPECT_THAT(answer.terms[0]->architectures, ElementsAre("amd64"));
  EXPECT_THAT(answer.terms[1]->architectures, ElementsAre("arm64"));
  Json several =
      WithTerms(Pod("web"), Json::array({TermWith("kubernetes.io/os", "NotIn", {"windows"})}));
  EXPECT_NE(Require(several, CommonOf({image})).not_judged, "");
}

TEST(RequirementTerms, WithAnArchitectureOfTheUserStay) {
  Json pod = WithTerms(Pod("web"), Json::array({TermWith("kubernetes.io/arch", "In", {"arm64"}),
                                                TermWith("zone", "In", {"a"})}));
  RequirementAnswer answer = Require(pod, CommonOf({kBoth}));
  EXPECT_FALSE(answer.terms[0]);
  EXPECT_THAT(answer.terms[1]->architectures, ElementsAre("amd64", "arm64"));
}

TEST(RequirementResult, IsComparedTermByTerm) {
  Json before = Pod("web");
  RequirementAnswer answer = Require(before, CommonOf({kBoth}));
  EXPECT_EQ(DiffersFrom(answer, before, Required(before, {"arm64", "amd64"})), "");
  EXPECT_NE(DiffersFrom(answer, before, Required(before, {"amd64"})), "");
  EXPECT_NE(DiffersFrom(answer, before, before), "");
  EXPECT_NE(
      DiffersFrom(answer, before,
                  Labelled(Required(before, {"arm64", "amd64"}), "multiarch.openshift.io/s390x")),
      "");
  EXPECT_NE(DiffersFrom(answer, before,
                        WithoutLabel(Required(before, {"arm64", "amd64"}),
                                     "multiarch.openshift.io/multi-arch")),
            "");
}

TEST(RequirementResult, NowhereWithoutCommonArchitecture) {
  Json before = Pod("web");
  RequirementAnswer answer = Require(before, CommonOf({kAmd, kArm}));
  EXPECT_EQ(DiffersFrom(answer, before, Required(before, {})), "");
  EXPECT_NE(DiffersFrom(answer, before, Required(before, {"amd64"})), "");
}

TEST(Fallback, IsRequiredIfThereIsOne) {
  Json before = Pod("web");
  Json after = Requiring(Labelled(before, "multiarch.openshift.io/node-affinity", "set"),
                         "kubernetes.io/arch", {"arm64"});
  after = Labelled(after, "multiarch.openshift.io/fallback-arch", "arm64");
  EXPECT_EQ(DiffersFrom(RequireFallback(before, "arm64"), before, after), "");
  EXPECT_NE(DiffersFrom(RequireFallback(before, "amd64"), before, after), "");
  EXPECT_NE(DiffersFrom(RequireFallback(before, ""), before, after), "");
  EXPECT_THAT(RequireFallback(before, "arm64").architectures, IsEmpty());
}

TEST(Narrowing, KeepsWhatTheImagesStillHave) {
  Json before = Required(Pod("web"), {"amd64", "arm64"});
  RequirementAnswer same = Narrow(before, {0}, CommonOf({kBoth}));
  EXPECT_EQ(DiffersFrom(same, before, before), "");
  RequirementAnswer less = Narrow(before, {0}, CommonOf({kArm}));
  Json after = Requiring(before, "kubernetes.io/arch", {"arm64"});
  for (const char* label : {"amd64", "multi-arch"})
    after = WithoutLabel(after, std::string("multiarch.openshift.io/") + label);
  after = Labelled(after, "multiarch.openshift.io/single-arch");
  EXPECT_EQ(DiffersFrom(less, before, after), "");
  EXPECT_NE(DiffersFrom(less, before, before), "");
  EXPECT_THAT(less.architectures, ElementsAre("arm64"));
  // Gained architectures are not added.
  EXPECT_EQ(
      DiffersFrom(
          Narrow(before, {0},
                 CommonOf({For({{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "s390x"}})})),
          before, before),
      "");
  // Images that are of one other system now.
  Image windows = For({{"windows", "amd64"}, {"windows", "arm64"}});
  EXPECT_EQ(DiffersFrom(Narrow(before, {0}, CommonOf({windows})), before,
                        Requiring(before, "kubernetes.io/os", {"windows"})),
            "");
  // The user's own terms stay.
  EXPECT_EQ(DiffersFrom(Narrow(before, {}, CommonOf({kArm})), before, before), "");
  EXPECT_EQ(DiffersFrom(Narrow(before, {0}, std::nullopt), before, before), "");
}

TEST(ImagesOfPods, OfContainersAndVolumes) {
  Json pod = Pod("web");
  pod["spec"]["initContainers"] =
      Json::array({{{"image", "r.io/init:1"}, {"imagePullPolicy", "Always"}}});
  pod["spec"]["volumes"] = Json::array({{{"name", "data"}, {"image", {{"reference", "r.io/d:1"}}}},
                                        {{"name", "app"}, {"image", {{"reference", kImage}}}}});
  std::vector<PodImage> images = ImagesOf(pod);
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0].reference, kImage);
  EXPECT_FALSE(images[0].volume);
  EXPECT_TRUE(images[1].volume);
  EXPECT_TRUE(images[2].always_pull);
}

TEST(Tolerations, ForTaintsThatAreNotTolerated) {
  TolerationPlugin plugin{
      .enabled = true, .effects = {"NoSchedule", "NoExecute"}, .key = "kubernetes.io/arch"};
  Json pod = Pod("web");
  EXPECT_THAT(
      TolerationsFor(plugin, pod, {"amd64"}),
      ElementsAre("kubernetes.io/arch=amd64:NoExecute", "kubernetes.io/arch=amd64:NoSchedule"));
  pod["spec"]["tolerations"] = Json::array({{{"key", "kubernetes.io/arch"},
                                             {"value", "amd64"},
                                             {"effect", "NoExecute"},
                                             {"tolerationSeconds", 5}}});
  EXPECT_THAT(TolerationsFor(plugin, pod, {"amd64"}),
              ElementsAre("kubernetes.io/arch=amd64:NoSchedule"));
  pod["spec"]["tolerations"] = Json::array({{{"operator", "Exists"}}});
  EXPECT_THAT(TolerationsFor(plugin, pod, {"amd64"}), IsEmpty());
  plugin.enabled = false;
  EXPECT_THAT(TolerationsFor(plugin, Pod("web"), {"amd64"}), IsEmpty());
}

}  // namespace
}  // namespace sim::checker
