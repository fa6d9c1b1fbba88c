// SPDX-License-Identifier: Apache-2.0
#include "plugin/workload/creation_cause.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace plugin {
namespace {

WorkloadEvidence FailsWith(const std::string& message) {
  WorkloadEvidence evidence{.kind = "Deployment", .ns = "shop", .name = "web", .wanted = 2};
  kube::core::Event& event = evidence.events.emplace_back();
  event.set_reason("FailedCreate");
  event.set_message(message);
  return evidence;
}

TEST(CreationCauseTest, IsWhatTheApiServerSays) {
  const std::pair<const char*, const char*> rows[] = {
      {"Error creating: pods \"web-1\" is forbidden: exceeded quota: small, requested: pods=1, "
       "used: pods=3, limited: pods=3",
       "QuotaExceeded"},
      {"Error creating: Internal error occurred: failed calling webhook \"a.example.com\": failed "
       "to call webhook: Post \"https://a.ns.svc:443/\": connection refused",
       "WebhookUnreachable"},
      {"Error creating: admission webhook \"a.example.com\" denied the request: no latest",
       "PolicyRefuses"},
      {"Error creating: pods \"web-1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding "
       "'b' denied request: no",
       "PolicyRefuses"},
      {"Error creating: pods \"web-1\" is forbidden: violates PodSecurity \"restricted:latest\"",
       "NotAllowed"},
      {"Error creating: something new", "NotCreated"}};
  for (const auto& [message, name] : rows) {
    std::optional<Cause> cause = FindCreationCause(FailsWith(message));
    ASSERT_TRUE(cause) << message;
    EXPECT_EQ(cause->name, name) << message;
    EXPECT_NE(cause->why.find(message), std::string::npos);
  }
}

TEST(CreationCauseTest, OfAWorkloadWithAllItsPodsThereIsNone) {
  WorkloadEvidence evidence = FailsWith("exceeded quota");
  evidence.pods.resize(2);
  EXPECT_FALSE(FindCreationCause(evidence)) << "it was created since";
  evidence.pods.resize(1);
  EXPECT_TRUE(FindCreationCause(evidence));
  evidence.events.clear();
  EXPECT_FALSE(FindCreationCause(evidence));
}

}  // namespace
}  // namespace plugin
