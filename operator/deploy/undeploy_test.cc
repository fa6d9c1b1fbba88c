// SPDX-License-Identifier: Apache-2.0
#include "operator/deploy/undeploy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/advancing_clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::Error;
using kube::Json;
using kube::MakePod;
using kube::Result;
using kube::Unstructured;
using kube::core::Pod;
using namespace std::chrono_literals;

// No operator is available, so the tool does the whole teardown.
class UndeployTest : public testing::Test {
 protected:
  void SetUp() override {
    Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "ops"}}}};
    api_.CreateJson(kube::kNamespaces, ns);
    objects_.emplace_back(ns);
    Json webhook = {{"metadata", {{"name", "pod-placement"}}}};
    webhook["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "multiarch-tuning-operator";
    api_.CreateJson(kube::kMutatingWebhookConfigurations, webhook);
    // The policy of rules.
    api_.CreateJson(kube::kValidatingAdmissionPolicies, webhook);
    api_.CreateJson(kube::kValidatingAdmissionPolicyBindings, webhook);
    // A policy that gates pods.
    api_.CreateJson(kube::kMutatingAdmissionPolicies, webhook);
    api_.CreateJson(kube::kMutatingAdmissionPolicyBindings, webhook);
  }
  void CreateGated(const std::string& name) {
    api_.Create<Pod>(MakePod(name).Phase("Pending").Gate(api::kClusterGate).Gate(api::kLocalGate));
  }
  bool IsGated(const std::string& name) {
    return placement::HasGate(*api_.Get<Pod>({"ns", name}), api::kClusterGate);
  }
  bool OperatorIsRemoved() {
    return !api_.GetJson(kube::kNamespaces, {"", "ops"}) &&
           !api_.GetJson(kube::kMutatingWebhookConfigurations, {"", "pod-placement"}) &&
           !api_.GetJson(kube::kMutatingAdmissionPolicies, {"", "pod-placement"}) &&
           !api_.GetJson(kube::kMutatingAdmissionPolicyBindings, {"", "pod-placement"}) &&
           !api_.GetJson(kube::kValidatingAdmissionPolicies, {"", "pod-placement"}) &&
           !api_.GetJson(kube::kValidatingAdmissionPolicyBindings, {"", "pod-placement"});
  }
  Result<> Run() {
    UndeployOptions options{.timeout = 30s};
    return kube::Run(io_, Undeploy(api_, clock_, objects_, options));
  }

  boost::asio::io_context io_;
  kube::AdvancingClock clock_;
  kube::FakeApiServer api_;
  std::vector<Unstructured> objects_;
};

TEST_F(UndeployTest, UngatesEveryPod) {
  for (const char* name : {"a", "b"}) CreateGated(name);
  EXPECT_THAT(Run(), kube::IsOk());
  EXPECT_FALSE(IsGated("a"));
  EXPECT_FALSE(IsGated("b"));
  EXPECT_TRUE(OperatorIsRemoved());
}

// I7: an API server stores a pod up to its request timeout after the webhook patched it.
TEST_F(UndeployTest, UngatesPodsThatAreStoredLate) {
  kube::TimePoint begin = clock_.Now();
  bool late = false;
  api_.BeforeEach([&](const std::string& call) {
    if (late || !call.starts_with("GET /api/v1/pods") || clock_.Now() < begin + 50s) return;
    late = true;
    CreateGated("late");
  });
  EXPECT_THAT(Run(), kube::IsOk());
  ASSERT_TRUE(late);
  EXPECT_FALSE(IsGated("late"));
}

// Before Kubernetes 1.36.
TEST_F(UndeployTest, AnApiServerNeedNotKnowPoliciesThatGatePods) {
  api_.FailNext(Error::FromHttpStatus(404, "NotFound", "no such resource"), "/mutatingadmission",
                1000);
  EXPECT_THAT(Run(), kube::IsOk());
  EXPECT_FALSE(api_.GetJson(kube::kMutatingWebhookConfigurations, {"", "pod-placement"}));
}

TEST_F(UndeployTest, APodWhoseWriteIsRefusedDelaysNoStep) {
  for (const char* name : {"a", "b"}) CreateGated(name);
  api_.FailNext(Error::FromHttpStatus(403, "Forbidden", "no, says the policy"),
                "PUT /api/v1/namespaces/ns/pods/a", 1000);
  EXPECT_THAT(Run(), kube::FailsWith(Code::kDeadlineExceeded,
                                     testing::HasSubstr("ns/a (PermissionDenied: no, says")));
  EXPECT_TRUE(IsGated("a"));
  EXPECT_FALSE(IsGated("b"));
  EXPECT_TRUE(OperatorIsRemoved());
  EXPECT_GE(api_.CountCalls("PUT /api/v1/namespaces/ns/pods/a"), 3);
}

TEST_F(UndeployTest, APodThatAlwaysChangesDelaysNoStep) {
  for (const char* name : {"a", "b"}) CreateGated(name);
  int writes = 0;
  api_.BeforeEach([&](const std::string& call) {
    if (call != "PUT /api/v1/namespaces/ns/pods/a") return;
    api_.Update<Pod>(MakePod("a")
                         .Phase("Pending")
                         .Gate(api::kClusterGate)
                         .Label("round", std::to_string(++writes)));
  });
  EXPECT_THAT(Run(), kube::FailsWith(Code::kDeadlineExceeded, testing::HasSubstr("ns/a")));
  EXPECT_FALSE(IsGated("b"));
  EXPECT_TRUE(OperatorIsRemoved());
}

}  // namespace
}  // namespace operator_
