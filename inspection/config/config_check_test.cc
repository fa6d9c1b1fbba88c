// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/config_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"

namespace inspection {
namespace {

constexpr char kConfigJson[] = "kubernetes.io/dockerconfigjson";

std::string Message(const kube::Result<>& result) { return result ? "" : result.error().message(); }
std::string Message(const kube::Result<int>& result) {
  return result ? std::to_string(*result) : result.error().message();
}

std::string Certificate() {
  return kube::NewCertificateAuthority("ca", std::chrono::hours(24), kube::RealClock())
      ->certificate_pem;
}

TEST(ConfigCheckTest, RegistriesConfNamesTheLine) {
  EXPECT_EQ(Message(CheckRegistriesConf("")), "");
  EXPECT_EQ(Message(CheckRegistriesConf("[[registry]]\nlocation = \"r.io\"\nblocked = \"yes\"\n")),
            "registries.conf line 3: blocked: not true or false");
  EXPECT_NE(Message(CheckRegistriesConf("[[registry]]\n\nlocation = r.io\n"))
                .find("registries.conf line 3"),
            std::string::npos);
}

TEST(ConfigCheckTest, PolicyNamesTheLine) {
  EXPECT_EQ(Message(CheckPolicyJson("")), "");
  EXPECT_EQ(Message(CheckPolicyJson(R"({"default": [{"type": "insecureAcceptAnything"}]})")), "");
  EXPECT_EQ(Message(CheckPolicyJson("{\n \"default\": [\n }")),
            "policy.json: line 3, column 2: not valid JSON");
  EXPECT_NE(Message(CheckPolicyJson("{}")).find("policy.json"), std::string::npos);
}

TEST(ConfigCheckTest, ABundleNamesTheBlockAndItsLine) {
  std::string good = Certificate();
  EXPECT_EQ(Message(CountCertificates("")), "0");
  EXPECT_EQ(Message(CountCertificates("# ours\n" + good + "\n# theirs\r\n" + good)), "2");
  std::string broken = good;
  broken.replace(broken.find('\n') + 1, 4, "!!!!");
  auto lines = std::count(good.begin(), good.end(), '\n');
  EXPECT_EQ(Message(CountCertificates(good + broken)),
            "line " + std::to_string(lines + 1) + ": certificate 2 cannot be read");
  EXPECT_EQ(Message(CountCertificates("\n" + good.substr(0, good.size() / 2))),
            "line 2: certificate 1 cannot be read");
  EXPECT_EQ(Message(CountCertificates(
                "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n" + good)),
            "1");
}

TEST(ConfigCheckTest, APullSecretNamesThePositionAndNoContents) {
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, R"({"auths": {}})")), "");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson,
                                    R"({"auths": {"r.io": {"username": "u", "password": "p"}}})")),
            "");
  EXPECT_EQ(Message(CheckPullSecret("kubernetes.io/dockercfg", R"({"r.io": {"auth": "dTpw"}})")),
            "");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, "{\"auths\":\n{hunter2}}")),
            "line 2, column 2: not valid JSON");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, "{\"auths\": {")),
            "line 1, column 12: not valid JSON");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, "")), "line 1, column 1: not valid JSON");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, R"({"hunter2": 1})")),
            "there is no object \"auths\"");
  EXPECT_EQ(Message(CheckPullSecret(kConfigJson, R"({"auths": {"r.io": {"auth": "hunter2"}}})")),
            "no entry has a valid registry and credential");
  EXPECT_EQ(Message(CheckPullSecret("Opaque", "{}")),
            "the type is Opaque, not kubernetes.io/dockerconfigjson");
}

}  // namespace
}  // namespace inspection
