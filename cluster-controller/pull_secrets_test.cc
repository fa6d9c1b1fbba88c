// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pull_secrets.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using namespace std::chrono_literals;

kube::core::Secret MakeSecret(const std::string& ns, const std::string& name, const std::string& user) {
  kube::core::Secret secret;
  secret.mutable_metadata()->set_namespace_(ns);
  secret.mutable_metadata()->set_name(name);
  secret.set_type(std::string(inspection::kDockerConfigJsonType));
  (*secret.mutable_data())[".dockerconfigjson"] =
      R"({"auths":{"r.io":{"username":")" + user + R"(","password":"p"}}})";
  return secret;
}

class PullSecretsTest : public testing::Test {
 protected:
  // The users whose credentials a pod of namespace "ns" with these secrets has for r.io.
  std::vector<std::string> Users(const kube::core::Pod& pod) {
    auto keyring = kube::Run(io_, secrets_.For(pod));
    EXPECT_THAT(keyring, IsOk());
    std::vector<std::string> users;
    for (auto& credential : keyring->Match("r.io", "app")) users.push_back(credential.username);
    return users;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  PullSecrets secrets_{api_, clock_, 2s};
};

using Strings = std::vector<std::string>;

TEST_F(PullSecretsTest, ReadsThePodsSecretsInOrderThenTheGlobalOne) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  api_.Create(MakeSecret("ns", "b", "bob"));
  api_.Create(MakeSecret("ops", "all", "eve"));
  secrets_.SetGlobal({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web").PullSecret("b").PullSecret("a")), (Strings{"bob", "ann", "eve"}));
}

TEST_F(PullSecretsTest, AMissingSecretOrOneOfAnotherTypeCountsAsNone) {
  kube::core::Secret opaque = MakeSecret("ns", "opaque", "mallory");
  opaque.set_type("Opaque");
  api_.Create(opaque);
  EXPECT_EQ(Users(MakePod("web").PullSecret("nowhere").PullSecret("opaque")), Strings{});
}

TEST_F(PullSecretsTest, PodsOfAMomentShareOneRead) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  for (int i = 0; i < 5; ++i) Users(MakePod("web").PullSecret("a"));
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

TEST_F(PullSecretsTest, ADeletedSecretIsOutOfUseAfterTheMoment) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{"ann"});
  api_.Delete<kube::core::Secret>({"ns", "a"});
  clock_.Advance(2s);
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{});
}

TEST_F(PullSecretsTest, ANamespaceNeverSeesTheSecretOfAnother) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{"ann"});
  EXPECT_EQ(Users(MakePod("web").Namespace("other").PullSecret("a")), Strings{});
}

TEST_F(PullSecretsTest, AnUnreachableApiServerIsAnError) {
  api_.FailNext(Error::Unavailable("503"));
  EXPECT_THAT(kube::Run(io_, secrets_.For(MakePod("web").PullSecret("a"))), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace cluster_controller
