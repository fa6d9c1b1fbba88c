// SPDX-License-Identifier: Apache-2.0
#include "webhook/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kube/base/base64.h"
#include "kube/server/http_message.h"
#include "kube/types/unstructured.h"

namespace webhook {
namespace {

using kube::Json;
using ::testing::HasSubstr;

constexpr char kLabel[] = "multiarch.openshift.io/webhook-probe";

Json Probe() {
  return kube::MustParseJson(R"({
    "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
    "request": {
      "uid": "u1", "operation": "CREATE", "namespace": "ops", "dryRun": true,
      "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
      "object": {
        "metadata": {"name": "probe",
                     "labels": {"multiarch.openshift.io/webhook-probe": "shop"}},
        "spec": {"replicas": 0}}}})");
}

// The object of `review` after the answer.
Json Answered(const Json& review) {
  kube::HttpReply reply = AnswerProbe({"POST", "/probe", kube::DumpJson(review)}, "ops");
  EXPECT_EQ(reply.status, 200) << reply.body;
  Json answer = *kube::ParseJson(reply.body);
  EXPECT_TRUE(kube::BoolAt(answer, "response.allowed"));
  EXPECT_EQ(kube::StringAt(answer, "response.uid"), "u1");
  Json object = review["request"]["object"];
  std::string patch = kube::StringAt(answer, "response.patch");
  return patch.empty() ? object : object.patch(*kube::ParseJson(*kube::Base64Decode(patch)));
}

TEST(ProbeTest, ComesBackWithTheValueOfItsLabel) {
  Json review = Probe();
  Json expected = review["request"]["object"];
  expected["metadata"]["annotations"] = {{kLabel, "shop"}};
  EXPECT_EQ(Answered(review), expected);

  review["request"]["object"]["metadata"]["annotations"] = {{"a", "b"}};
  expected["metadata"]["annotations"]["a"] = "b";
  EXPECT_EQ(Answered(review), expected);
}

TEST(ProbeTest, HasTheReportOfItsMode) {
  kube::HttpReply reply =
      AnswerProbe({"POST", "/probe", kube::DumpJson(Probe())}, "ops", "a1 \"7\"");
  Json patch = *kube::ParseJson(
      *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch")));
  Json object = Probe()["request"]["object"].patch(patch);
  EXPECT_EQ(object["metadata"]["annotations"],
            (Json{{kLabel, "shop"}, {"multiarch.openshift.io/webhook-report", "a1 \"7\""}}));
}

// A label that a tenant sets has no effect.
TEST(ProbeTest, NothingElseIsChanged) {
  struct Case {
    const char* name;
    std::function<void(Json& request)> change;
  };
  for (const Case& c : {
           Case{"not a dry run", [](Json& request) { request["dryRun"] = false; }},
           Case{"no field dryRun", [](Json& request) { request.erase("dryRun"); }},
           Case{"another namespace", [](Json& request) { request["namespace"] = "shop"; }},
           Case{"an update", [](Json& request) { request["operation"] = "UPDATE"; }},
           Case{"a subresource", [](Json& request) { request["subResource"] = "scale"; }},
           Case{"no label",
                [](Json& request) { request["object"]["metadata"]["labels"].erase(kLabel); }},
           Case{"a label that is no string",
                [](Json& request) { request["object"]["metadata"]["labels"][kLabel] = 7; }},
           Case{"labels that are no map",
                [](Json& request) { request["object"]["metadata"]["labels"] = Json::array(); }},
       }) {
    Json review = Probe();
    c.change(review["request"]);
    EXPECT_EQ(Answered(review), review["request"]["object"]) << c.name;
  }
  Json review = Probe();
  review["request"]["object"] = nullptr;
  EXPECT_EQ(Answered(review), nullptr);
}

TEST(ProbeTest, BrokenReviewsAreBadRequests) {
  for (const char* body : {"", "{", "null", R"({"kind":"AdmissionReview"})"})
    EXPECT_EQ(AnswerProbe({"POST", "/probe", body}, "ops").status, 400) << body;
}

TEST(ProbeTest, AReviewHasABound) {
  Json review = Probe();
  review["request"]["pad"] = "";
  auto& pad = review["request"]["pad"].get_ref<std::string&>();
  pad = std::string(kMaxProbeReview - kube::DumpJson(review).size(), 'x');
  EXPECT_EQ(AnswerProbe({"POST", "/probe", kube::DumpJson(review)}, "ops").status, 200);
  pad += 'x';
  kube::HttpReply reply = AnswerProbe({"POST", "/probe", kube::DumpJson(review)}, "ops");
  EXPECT_EQ(reply.status, 413);
  EXPECT_THAT(reply.body, HasSubstr("at most 65536 bytes"));
}

}  // namespace
}  // namespace webhook
