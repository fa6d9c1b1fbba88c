// SPDX-License-Identifier: Apache-2.0
// The webhook as a process with --policies, and an API server.
#include "scheduling-policies/webhook/policy_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/http_api_server.h"
#include "kube/testing/subprocess.h"
#include "kube/types/kinds.h"
#include "scheduling-policies/webhook/replica.h"
#include "scheduling-policies/webhook/testing/reviews.h"
#include "webhook/testing/webhook_process.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const kube::ObjectKey kReplica{"operator", "replica-1"};

class PoliciesProcessTest : public webhook::WebhookProcessTest {
 protected:
  PoliciesProcessTest() : api_(certificates_.string()) {
    setenv("POD_NAME", kReplica.name.c_str(), 1);
    CreateNamespace("shop");
  }

  std::vector<std::string> PolicyFlags(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--policies", "--operator-namespace=" + kReplica.ns,
                             "--kubeconfig=" + api_.kubeconfig()});
    return Flags(std::move(more));
  }
  void CreateNamespace(const std::string& name) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    api_.With([&](kube::FakeApiServer& api) { return api.Create(ns); });
  }
  // Returns the version of the policy.
  uint64_t CreatePolicy(const std::string& words, const std::string& ns = "shop") {
    kube::Json json = PolicyJson(words);
    json["metadata"]["namespace"] = ns;
    return api_.With([&](kube::FakeApiServer& api) {
      kube::Json created = api.CreateJson(kPodSchedulingPolicies, json);
      return VersionNumber(kube::StringAt(created, "metadata.resourceVersion"));
    });
  }
  // What the replica has acknowledged; nullopt without a Lease.
  std::optional<uint64_t> Seen() {
    auto lease =
        api_.With([](kube::FakeApiServer& api) { return api.GetJson(kube::kLeases, kReplica); });
    if (!lease) return std::nullopt;
    const kube::Json& annotations = (*lease)["metadata"]["annotations"];
    return VersionNumber(annotations[std::string(kSeenAnnotation)].get<std::string>());
  }
  // Asks until `done`; false after a minute.
  static bool Await(const std::function<bool()>& done) {
    kube::TimePoint end = kube::RealClock().Now() + 1min;
    while (kube::RealClock().Now() < end) {
      if (done()) return true;
    }
    return false;
  }

  kube::HttpApiServer api_;
};

TEST_F(PoliciesProcessTest, InvalidFlagsAreNamed) {
  ExpectFailure({"--only-changed-templates"}, 1, "--only-changed-templates is for --policies");
  ExpectFailure({"--require-cluster-policies"}, 1, "--require-cluster-policies is for --policies");
  ExpectFailure({"--policies", "--gate=cluster"}, 1, "--policies adds no gate: it refuses --gate");
  ExpectFailure({"--policies", "--namespace=web"}, 1, "it refuses --namespace");
  ExpectFailure({"--policies", "--operator-namespace="}, 1, "--operator-namespace must name");
  unsetenv("POD_NAME");
  ExpectFailure({"--policies"}, 1, "POD_NAME must name this pod");
}

TEST_F(PoliciesProcessTest, AppliesWhatItAcknowledgesAndDrains) {
  uint64_t version = CreatePolicy("N-a k:v");
  kube::Subprocess process(webhook::kProgram, PolicyFlags());
  uint16_t port = PortAfter(process, "policies, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  ASSERT_TRUE(Await([&] { return ops.Request("GET", "/readyz").status == 200; }));
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  EXPECT_TRUE(Await([&] { return Seen() >= version; }));

  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  kube::Json deployment = Workload("-");
  std::string review = kube::DumpJson(ReviewOf("apps/deployments", "CREATE", deployment));
  EXPECT_THAT(client.Request("POST", "/policies", review).body, HasSubstr("\"patch\":\""));
  EXPECT_THAT(client.Request("POST", "/policies/probe/abc", review).body,
              HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/policies", "{}").status, 400);
  EXPECT_EQ(client.Request("POST", "/add-pod-scheduling-gate", review).status, 404);

  // A new policy is applied as soon as it is acknowledged.
  CreateNamespace("other");
  deployment["metadata"]["namespace"] = "other";
  review = kube::DumpJson(ReviewOf("apps/deployments", "CREATE", deployment));
  EXPECT_THAT(client.Request("POST", "/policies", review).body, Not(HasSubstr("\"patch\"")));
  version = CreatePolicy("N-b k:v", "other");
  ASSERT_TRUE(Await([&] { return Seen() >= version; }));
  EXPECT_THAT(client.Request("POST", "/policies", review).body, HasSubstr("\"patch\":\""));
  EXPECT_THAT(ops.Request("GET", "/metrics").body,
              HasSubstr("mto_ppo_policy_wh_reviews_total{result=\"patched\"} 3\n"));

  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.output();
  EXPECT_EQ(Seen(), std::nullopt) << "the Lease is deleted at a clean end";
}

TEST_F(PoliciesProcessTest, UpdatesOfTheTemplateOnly) {
  CreatePolicy("N-a k:v");
  kube::Subprocess process(webhook::kProgram, PolicyFlags({"--only-changed-templates"}));
  uint16_t port = PortAfter(process, "policies, on port ");
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  kube::Json review = ReviewOf("apps/deployments", "UPDATE", Workload("-"));
  review["request"]["oldObject"] = review["request"]["object"];
  ASSERT_TRUE(Await(
      [&] { return client.Request("POST", "/policies", kube::DumpJson(review)).status == 200; }));
  EXPECT_THAT(client.Request("POST", "/policies", kube::DumpJson(review)).body,
              Not(HasSubstr("\"patch\"")));
  review["request"]["oldObject"] = Workload("m:w");
  EXPECT_THAT(client.Request("POST", "/policies", kube::DumpJson(review)).body,
              HasSubstr("\"patch\":\""));
}

TEST_F(PoliciesProcessTest, IsUnreadyWithoutAnApiServer) {
  api_.With([](kube::FakeApiServer& api) {
    api.Stop();
    return 0;
  });
  kube::Subprocess process(webhook::kProgram, PolicyFlags());
  uint16_t port = PortAfter(process, "policies, on port ");
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  EXPECT_THAT(ops.Request("GET", "/readyz").body, HasSubstr("[-]policies failed"));
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect());
  std::string review = kube::DumpJson(ReviewOf("apps/deployments", "CREATE", Workload("-")));
  EXPECT_EQ(client.Request("POST", "/policies", review).status, 500);
}

#ifndef BUILT_WITH_SANITIZER
TEST_F(PoliciesProcessTest, TwoThousandPoliciesNeedLittleMemory) {
  uint64_t version = 0;
  for (int ns = 0; ns < 500; ++ns) {
    std::string name = "ns-" + std::to_string(ns);
    CreateNamespace(name);
    for (int i = 0; i < 4; ++i) {
      version = CreatePolicy("N-" + std::to_string(i) + " [d][e] P9[a] T(all) t(k=v) k:v", name);
    }
  }
  kube::Subprocess process(webhook::kProgram, PolicyFlags());
  ASSERT_TRUE(Await([&] { return Seen() >= version; })) << process.output();
  std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
  long resident_kb = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) resident_kb = std::strtol(line.c_str() + 6, nullptr, 10);
  }
  RecordProperty("resident_kb", static_cast<int>(resident_kb));
  std::cout << "resident: " << resident_kb << " KB\n";
  EXPECT_GT(resident_kb, 0);
  // Equal runs differ by half a megabyte.
  EXPECT_LT(resident_kb, 21 * 1024);
}
#endif

}  // namespace
}  // namespace policy
