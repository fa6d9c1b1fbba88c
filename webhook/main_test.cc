// SPDX-License-Identifier: Apache-2.0
// The webhook as a process: flags, certificates, answers over TLS, and the drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/http_api_server.h"
#include "kube/testing/subprocess.h"
#include "kube/types/kinds.h"
#include "scheduling-policies/webhook/replica.h"
#include "scheduling-policies/webhook/testing/reviews.h"
#include "webhook/golden.h"

namespace webhook {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = "webhook/webhook";

class WebhookProcessTest : public ::testing::Test {
 protected:
  WebhookProcessTest() {
    certificates_ = std::filesystem::path(::testing::TempDir()) /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(certificates_);
    ca_ = *kube::NewCertificateAuthority("test", 1h, kube::RealClock());
    kube::KeyPair pair = *kube::NewServingCertificate(ca_, {"127.0.0.1"}, 1h, kube::RealClock());
    std::ofstream(certificates_ / "tls.crt") << pair.certificate_pem;
    std::ofstream(certificates_ / "tls.key") << pair.private_key_pem;
  }

  std::vector<std::string> Flags(std::vector<std::string> more) {
    std::vector<std::string> flags = {"--cert-dir=" + certificates_.string(),
                                      "--address=127.0.0.1:0", "--health-address=127.0.0.1:0",
                                      "--drain-delay=0s"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  // The port number that follows `words` in the log of the process.
  static uint16_t PortAfter(kube::Subprocess& process, const std::string& words) {
    if (!process.WaitForOutput("; health on port ") || !process.WaitForOutput("\n")) return 0;
    size_t at = process.output().find(words);
    return at == std::string::npos
               ? 0
               : static_cast<uint16_t>(std::stoi(process.output().substr(at + words.size())));
  }

  void ExpectFailure(std::vector<std::string> flags, int code, const std::string& message) {
    kube::Subprocess process(kProgram, Flags(std::move(flags)));
    EXPECT_EQ(process.Wait(), code);
    EXPECT_THAT(process.output(), HasSubstr(message));
  }

  boost::asio::io_context context_{1};
  std::filesystem::path certificates_;
  kube::KeyPair ca_;
};

TEST_F(WebhookProcessTest, InvalidFlagsAreNamed) {
  ExpectFailure({"--gates=local"}, 2, "unknown command line flag 'gates'");
  ExpectFailure({"--gate=both"}, 1, "--gate: \"both\" is neither cluster nor local");
  ExpectFailure({"--gate=local"}, 1, "--namespace is required with --gate=local");
  ExpectFailure({"--gate=cluster", "--namespace=web"}, 1, "--namespace is for --gate=local");
  ExpectFailure({"--address=nowhere"}, 1, "not an address to listen on");
  ExpectFailure({"--drain-delay=soon"}, 2, "drain_delay");
  ExpectFailure({"local"}, 2, "unexpected argument 'local'");
  ExpectFailure({"--only-changed-templates"}, 1, "--only-changed-templates is for --policies");
  ExpectFailure({"--policies", "--gate=cluster"}, 1, "--policies adds no gate: it refuses --gate");
  ExpectFailure({"--policies", "--namespace=web"}, 1, "it refuses --namespace");
  ExpectFailure({"--policies", "--operator-namespace="}, 1, "--operator-namespace must name");
  unsetenv("POD_NAME");
  ExpectFailure({"--policies"}, 1, "POD_NAME must name this pod");
}

TEST_F(WebhookProcessTest, MissingCertificateIsNamed) {
  std::filesystem::remove(certificates_ / "tls.key");
  ExpectFailure({}, 1, (certificates_ / "tls.key").string() + ": No such file or directory");
}

TEST_F(WebhookProcessTest, GatesPodsReportsHealthAndDrains) {
  kube::Subprocess process(kProgram, Flags({"--gate=cluster"}));
  uint16_t port = PortAfter(process, "gate, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  std::string pod =
      ReadTestFile(std::filesystem::path(kTestdata) / "cluster_plain_pod_is_gated.input.json");
  kube::TestReply reply = client.Request("POST", "/add-pod-scheduling-gate", pod);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/local/prefs", pod).status, 404);

  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  EXPECT_EQ(ops.Request("GET", "/readyz").status, 200);
  EXPECT_THAT(ops.Request("GET", "/metrics").body, HasSubstr("mto_ppo_wh_pods_gated_total 1\n"));

  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.output();
}

TEST_F(WebhookProcessTest, TheLocalWebhookServesItsOwnPath) {
  kube::Subprocess process(kProgram, Flags({"--gate=local", "--namespace=web"}));
  uint16_t port = PortAfter(process, "gate, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  std::string pod =
      ReadTestFile(std::filesystem::path(kTestdata) / "local_plain_pod_is_gated.input.json");
  EXPECT_THAT(client.Request("POST", "/local/prefs", pod).body, HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/add-pod-scheduling-gate", pod).status, 404);
}

// --- Policies, with an API server.

const kube::ObjectKey kReplica{"operator", "replica-1"};

class PoliciesProcessTest : public WebhookProcessTest {
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
    kube::Json json = policy::PolicyJson(words);
    json["metadata"]["namespace"] = ns;
    return api_.With([&](kube::FakeApiServer& api) {
      kube::Json created = api.CreateJson(policy::kPodSchedulingPolicies, json);
      return policy::VersionNumber(kube::StringAt(created, "metadata.resourceVersion"));
    });
  }
  // What the replica has acknowledged; nullopt without a Lease.
  std::optional<uint64_t> Seen() {
    auto lease =
        api_.With([](kube::FakeApiServer& api) { return api.GetJson(kube::kLeases, kReplica); });
    if (!lease) return std::nullopt;
    const kube::Json& annotations = (*lease)["metadata"]["annotations"];
    return policy::VersionNumber(
        annotations[std::string(policy::kSeenAnnotation)].get<std::string>());
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

TEST_F(PoliciesProcessTest, AppliesWhatItAcknowledgesAndDrains) {
  uint64_t version = CreatePolicy("N-a k:v");
  kube::Subprocess process(kProgram, PolicyFlags());
  uint16_t port = PortAfter(process, "policies, on port ");
  ASSERT_NE(port, 0) << process.output();
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  ASSERT_TRUE(Await([&] { return ops.Request("GET", "/readyz").status == 200; }));
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  EXPECT_TRUE(Await([&] { return Seen() >= version; }));

  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  kube::Json deployment = policy::Workload("-");
  std::string review = kube::DumpJson(policy::ReviewOf("apps/deployments", "CREATE", deployment));
  EXPECT_THAT(client.Request("POST", "/policies", review).body, HasSubstr("\"patch\":\""));
  EXPECT_THAT(client.Request("POST", "/policies/probe/abc", review).body,
              HasSubstr("\"patch\":\""));
  EXPECT_EQ(client.Request("POST", "/policies", "{}").status, 400);
  EXPECT_EQ(client.Request("POST", "/add-pod-scheduling-gate", review).status, 404);

  // A new policy is applied as soon as it is acknowledged.
  CreateNamespace("other");
  deployment["metadata"]["namespace"] = "other";
  review = kube::DumpJson(policy::ReviewOf("apps/deployments", "CREATE", deployment));
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
  kube::Subprocess process(kProgram, PolicyFlags({"--only-changed-templates"}));
  uint16_t port = PortAfter(process, "policies, on port ");
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect()) << process.output();
  kube::Json review = policy::ReviewOf("apps/deployments", "UPDATE", policy::Workload("-"));
  review["request"]["oldObject"] = review["request"]["object"];
  ASSERT_TRUE(Await(
      [&] { return client.Request("POST", "/policies", kube::DumpJson(review)).status == 200; }));
  EXPECT_THAT(client.Request("POST", "/policies", kube::DumpJson(review)).body,
              Not(HasSubstr("\"patch\"")));
  review["request"]["oldObject"] = policy::Workload("m:w");
  EXPECT_THAT(client.Request("POST", "/policies", kube::DumpJson(review)).body,
              HasSubstr("\"patch\":\""));
}

TEST_F(PoliciesProcessTest, IsUnreadyWithoutAnApiServer) {
  api_.With([](kube::FakeApiServer& api) {
    api.Stop();
    return 0;
  });
  kube::Subprocess process(kProgram, PolicyFlags());
  uint16_t port = PortAfter(process, "policies, on port ");
  kube::TestClient ops(context_, PortAfter(process, "; health on port "));
  ASSERT_TRUE(ops.Connect());
  EXPECT_THAT(ops.Request("GET", "/readyz").body, HasSubstr("[-]policies failed"));
  EXPECT_EQ(ops.Request("GET", "/healthz").status, 200);
  kube::TestClient client(context_, port, ca_.certificate_pem);
  ASSERT_TRUE(client.Connect());
  std::string review =
      kube::DumpJson(policy::ReviewOf("apps/deployments", "CREATE", policy::Workload("-")));
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
  kube::Subprocess process(kProgram, PolicyFlags());
  ASSERT_TRUE(Await([&] { return Seen() >= version; })) << process.output();
  std::ifstream status("/proc/" + std::to_string(process.pid()) + "/status");
  long resident_kb = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) resident_kb = std::strtol(line.c_str() + 6, nullptr, 10);
  }
  RecordProperty("resident_kb", static_cast<int>(resident_kb));
  std::cout << "resident: " << resident_kb << " KB\n";
  EXPECT_GT(resident_kb, 0);
  EXPECT_LT(resident_kb, 20 * 1024);
}
#endif

}  // namespace
}  // namespace webhook
