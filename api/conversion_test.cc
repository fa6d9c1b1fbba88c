// SPDX-License-Identifier: Apache-2.0
#include "api/conversion.h"

#include <gtest/gtest.h>

namespace api {
namespace {

using kube::Code;
using kube::FailedWith;
using kube::Json;

const char* kAlpha = "multiarch.openshift.io/v1alpha1";
const char* kBeta = "multiarch.openshift.io/v1beta1";

Json Whole() {
  return kube::MustParseJson(R"({
    "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "ClusterPodPlacementConfig",
    "metadata": {"name": "cluster", "uid": "u", "resourceVersion": "7", "managedFields": [{"manager": "x"}],
                 "annotations": {"mine": "yes"}},
    "spec": {"logVerbosity": "Debug", "namespaceSelector": {"matchLabels": {"a": "b"}}, "fallbackArchitecture": "arm64",
             "plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "arm64", "weight": 5}]}}},
    "status": {"conditions": [{"type": "Available"}]}})");
}

TEST(ConversionTest, NothingIsLostOverARoundTrip) {
  auto alpha = ConvertClusterPodPlacementConfig(Whole(), kAlpha);
  ASSERT_TRUE(alpha) << alpha.error();
  EXPECT_EQ((*alpha)["apiVersion"], kAlpha);
  EXPECT_EQ((*alpha)["spec"],
            kube::MustParseJson(
                R"({"logVerbosity": "Debug", "namespaceSelector": {"matchLabels": {"a": "b"}}})"));
  EXPECT_EQ((*alpha)["status"], Whole()["status"]);
  EXPECT_EQ((*alpha)["metadata"]["annotations"]["multiarch.openshift.io/fallback-architecture"],
            "arm64");
  auto beta = ConvertClusterPodPlacementConfig(*alpha, kBeta);
  ASSERT_TRUE(beta) << beta.error();
  EXPECT_EQ(*beta, Whole());
}

TEST(ConversionTest, ChangesInTheOldVersionAreKept) {
  auto alpha = ConvertClusterPodPlacementConfig(Whole(), kAlpha);
  ASSERT_TRUE(alpha);
  (*alpha)["spec"]["logVerbosity"] = "Normal";
  auto beta = ConvertClusterPodPlacementConfig(*alpha, kBeta);
  ASSERT_TRUE(beta);
  EXPECT_EQ((*beta)["spec"]["logVerbosity"], "Normal");
  EXPECT_EQ((*beta)["spec"]["fallbackArchitecture"], "arm64");
}

TEST(ConversionTest, AnObjectWithoutNewFieldsGetsNoAnnotation) {
  Json plain = kube::MustParseJson(
      R"({"apiVersion": "multiarch.openshift.io/v1beta1", "kind": "ClusterPodPlacementConfig",
                               "metadata": {"name": "cluster"}, "spec": {"logVerbosity": "Normal"}})");
  auto alpha = ConvertClusterPodPlacementConfig(plain, kAlpha);
  ASSERT_TRUE(alpha);
  EXPECT_FALSE((*alpha)["metadata"].contains("annotations"));
  EXPECT_TRUE(ConvertClusterPodPlacementConfig(
      Json{{"apiVersion", kAlpha}, {"kind", "ClusterPodPlacementConfig"}}, kBeta));
}

TEST(ConversionTest, EveryOptionalFieldSurvives) {
  Json whole = Whole();
  for (const char* field :
       {"globalPullSecretRef", "caBundleConfigMapRef", "registriesConfigMapRef"}) {
    whole["spec"][field] = {{"name", "a"}};
  }
  whole["spec"]["gating"] = "Policy";
  whole["spec"]["shardTakeoverAfter"] = "40s";
  whole["spec"]["inspectionRetryPeriod"] = "2m";
  whole["spec"]["plugins"]["execFormatErrorMonitor"] = {{"enabled", true}};
  whole["spec"]["plugins"]["architectureTolerations"] = {{"enabled", true}, {"key", "a/b"}};
  whole["spec"]["plugins"]["amd64Levels"] = {{"enabled", true}};
  whole["spec"]["plugins"]["ephemeralContainerWarnings"] = {{"enabled", true}};
  whole["spec"]["plugins"]["schedulingPolicies"] = {{"enabled", true}};
  whole["spec"]["plugins"]["templates"] = {{"suspendedJobs", true}};
  whole["spec"]["plugins"]["daemonSets"] = {{"report", true}, {"patchTemplates", false}};
  auto alpha = ConvertClusterPodPlacementConfig(whole, kAlpha);
  ASSERT_TRUE(alpha) << alpha.error();
  auto beta = ConvertClusterPodPlacementConfig(*alpha, kBeta);
  ASSERT_TRUE(beta) << beta.error();
  EXPECT_EQ(*beta, whole);
  // The Go operator writes the field even if it is empty.
  whole["spec"]["fallbackArchitecture"] = "";
  alpha = ConvertClusterPodPlacementConfig(whole, kAlpha);
  ASSERT_TRUE(alpha) << alpha.error();
  EXPECT_FALSE(
      (*alpha)["metadata"]["annotations"].contains("multiarch.openshift.io/fallback-architecture"));
  beta = ConvertClusterPodPlacementConfig(*alpha, kBeta);
  ASSERT_TRUE(beta) << beta.error();
  EXPECT_EQ(*beta, whole);
}

TEST(ConversionTest, TheFallbackArchitectureIsWrittenAsAnAnnotation) {
  Json object = kube::MustParseJson(R"({
      "apiVersion": "multiarch.openshift.io/v1alpha1", "kind": "ClusterPodPlacementConfig",
      "metadata": {"name": "cluster", "annotations": {"multiarch.openshift.io/fallback-architecture": "s390x"}}})");
  auto beta = ConvertClusterPodPlacementConfig(object, kBeta);
  ASSERT_TRUE(beta) << beta.error();
  EXPECT_EQ((*beta)["spec"]["fallbackArchitecture"], "s390x");
  EXPECT_FALSE((*beta)["metadata"].contains("annotations"));
  // The field, even an absent one, takes precedence over an annotation on the v1beta1 object.
  (*beta)["metadata"]["annotations"]["multiarch.openshift.io/fallback-architecture"] = "amd64";
  auto alpha = ConvertClusterPodPlacementConfig(*beta, kAlpha);
  ASSERT_TRUE(alpha);
  EXPECT_EQ(*alpha, [&] {
    Json expected = object;
    expected["spec"] = Json::object();
    return expected;
  }());
  (*beta)["spec"].erase("fallbackArchitecture");
  alpha = ConvertClusterPodPlacementConfig(*beta, kAlpha);
  ASSERT_TRUE(alpha);
  EXPECT_FALSE((*alpha)["metadata"].contains("annotations"));
  // Names that no architecture has are refused.
  object["metadata"]["annotations"]["multiarch.openshift.io/fallback-architecture"] = "x86_64";
  EXPECT_TRUE(FailedWith(ConvertClusterPodPlacementConfig(object, kBeta), Code::kInvalid));
}

TEST(ConversionTest, AForgedAnnotationIsRefused) {
  for (const char* hidden :
       {R"("not json")", R"("[]")", "7", R"("{\"fallbackArchitecture\": \"x86_64\"}")",
        R"("{\"plugins\": {\"nodeAffinityScoring\": {}}}")"}) {
    Json object = {{"apiVersion", kAlpha}, {"kind", "ClusterPodPlacementConfig"}};
    object["metadata"]["annotations"]["multiarch.openshift.io/v1beta1-spec"] =
        kube::MustParseJson(hidden);
    EXPECT_TRUE(FailedWith(ConvertClusterPodPlacementConfig(object, kBeta), Code::kInvalid))
        << hidden;
  }
  // The annotation cannot change fields that the old version has.
  Json object = {{"apiVersion", kAlpha}, {"kind", "ClusterPodPlacementConfig"}};
  object["metadata"]["annotations"]["multiarch.openshift.io/v1beta1-spec"] =
      R"({"logVerbosity": "Debug"})";
  auto beta = ConvertClusterPodPlacementConfig(object, kBeta);
  ASSERT_TRUE(beta);
  EXPECT_FALSE((*beta)["spec"].contains("logVerbosity"));
}

TEST(ConversionTest, AnswersAReview) {
  Json review = {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "ConversionReview"},
      {"request",
       {{"uid", "123"}, {"desiredAPIVersion", kAlpha}, {"objects", {Whole(), Whole()}}}}};
  auto answer = AnswerConversionReview(review);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ((*answer)["response"]["uid"], "123");
  EXPECT_EQ((*answer)["response"]["result"]["status"], "Success");
  EXPECT_EQ((*answer)["response"]["convertedObjects"].size(), 2u);
  EXPECT_EQ((*answer)["response"]["convertedObjects"][1]["apiVersion"], kAlpha);

  review["request"]["objects"][1]["kind"] = "Pod";
  answer = AnswerConversionReview(review);
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)["response"]["result"], kube::MustParseJson(R"({"status": "Failure",
                            "message": "cluster: cannot convert Pod from multiarch.openshift.io/v1beta1"})"));
  EXPECT_TRUE((*answer)["response"]["convertedObjects"].empty());
}

TEST(ConversionTest, AnInvalidReviewIsAnError) {
  for (const char* text :
       {"{}", "[]", R"({"kind": "ConversionReview"})",
        R"({"kind": "ConversionReview", "request": {"uid": "1", "objects": {}}})"}) {
    EXPECT_TRUE(FailedWith(AnswerConversionReview(kube::MustParseJson(text)), Code::kInvalid))
        << text;
  }
}

}  // namespace
}  // namespace api
