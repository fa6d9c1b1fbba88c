// SPDX-License-Identifier: Apache-2.0
// The webhook as a process: flags, certificates, answers over TLS, and the drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/subprocess.h"
#include "webhook/golden.h"

namespace webhook {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace webhook
