// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/testing/mutate.h"
#include "kube/base/base64.h"

namespace inspection {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Auths(const std::string& body) { return R"({"auths":{)" + body + "}}"; }
std::string User(const std::string& key, const std::string& name) {
  return "\"" + key + R"(":{"username":")" + name + R"(","password":"p"})";
}
Keyring KeyringOf(const std::string& auths) {
  Keyring keyring;
  kube::Result<void> added = keyring.AddSecret("ns/s", kDockerConfigJsonType, Auths(auths));
  EXPECT_TRUE(added) << added.error();
  return keyring;
}
std::vector<std::string> Names(const Keyring& keyring, std::string_view registry,
                               std::string_view repository) {
  std::vector<std::string> names;
  for (const Credential& credential : keyring.Match(registry, repository))
    names.push_back(credential.username);
  return names;
}

TEST(KeyringTest, KeysMatchAsInTheKubelet) {
  struct Row {
    std::string key, registry, repository;
    bool matches;
  };
  const Row rows[] = {
      {"quay.io", "quay.io", "a/b", true},
      {"QUAY.io", "quay.io", "a/b", true},
      {"https://quay.io", "quay.io", "a/b", true},
      {"https://quay.io/v2/", "quay.io", "a/b", true},
      {"quay.io", "evilquay.io", "a", false},
      {"quay.io", "quay.io.evil.com", "a", false},
      {"quay.io/a", "quay.io", "a/b", true},
      {"quay.io/a/b", "quay.io", "a/b", true},
      {"quay.io/a/", "quay.io", "a/b", true},
      {"quay.io/a", "quay.io", "ab", false},
      {"quay.io/a/b", "quay.io", "a", false},
      {"r.io:5000", "r.io:5000", "a", true},
      {"r.io:5000", "r.io", "a", false},
      {"r.io", "r.io:5000", "a", false},
      {"[::1]:5000", "[::1]:5000", "a", true},
      {"[::1]", "[::1]:5000", "a", false},
      {"*.example.com", "a.example.com", "x", true},
      {"*.example.com", "example.com", "x", false},
      {"*.example.com", "a.b.example.com", "x", false},
      {"*.*.example.com", "a.b.example.com", "x", true},
      {"pre*.example.com", "prefix.example.com", "x", true},
      {"pre*fix.example.com", "pre1fix.example.com", "x", true},
      {"pre*.example.com", "other.example.com", "x", false},
      {"*.example.com/team", "a.example.com", "team/x", true},
      {"*.example.com:5000", "a.example.com:5000", "x", true},
      {"https://index.docker.io/v1/", "docker.io", "library/nginx", true},
      {"docker.io", "docker.io", "library/nginx", true},
      {"registry-1.docker.io", "docker.io", "library/nginx", true},
      {"docker.io/library", "docker.io", "bitnami/redis", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(!Names(KeyringOf(User(row.key, "u")), row.registry, row.repository).empty(),
              row.matches)
        << row.key << " for " << row.registry << "/" << row.repository;
  }
}

TEST(KeyringTest, TheLongestMatchComesFirst) {
  Keyring keyring = KeyringOf(User("*.io", "star") + "," + User("quay.io", "host") + "," +
                              User("quay.io/a/b", "deep") + "," + User("quay.io/a", "path"));
  EXPECT_THAT(Names(keyring, "quay.io", "a/b/c"), ElementsAre("deep", "path", "host", "star"));
}

TEST(KeyringTest, CredentialsOfOneKeyKeepTheirOrder) {
  Keyring keyring;
  ASSERT_TRUE(keyring.AddSecret("ns/first", kDockerConfigJsonType, Auths(User("quay.io", "one"))));
  ASSERT_TRUE(keyring.AddSecret("ns/second", kDockerCfgType, "{" + User("quay.io", "two") + "}"));
  Keyring all;
  ASSERT_TRUE(all.Append(keyring));
  ASSERT_TRUE(all.Append(KeyringOf(User("quay.io", "global") + "," + User("quay.io/x", "deep"))));
  EXPECT_THAT(Names(all, "quay.io", "a"), ElementsAre("one", "two", "global"));
  EXPECT_THAT(Names(all, "quay.io", "x/y"), ElementsAre("deep", "one", "two", "global"));
}

TEST(KeyringTest, ACredentialIsReturnedOnce) {
  EXPECT_THAT(Names(KeyringOf(User("quay.io", "u") + "," + User("*.io", "u")), "quay.io", "a"),
              ElementsAre("u"));
}

TEST(KeyringTest, ReadsEveryFormOfEntry) {
  Keyring keyring = KeyringOf(R"("a.io":{"auth":")" + kube::Base64Encode("u:p:with:colons") + R"("},
      "b.io":{"username":"u","password":"p"},
      "c.io":{"auth":")" + kube::Base64Encode("00000000-0000-0000-0000-000000000000:") +
                              R"(","identitytoken":"refresh"},
      "d.io":{"registrytoken":"bearer"},
      "e.io":{"auth":")" + kube::Base64Encode("winner:x") +
                              R"(","username":"loser","password":"y"})");
  auto a = keyring.Match("a.io", "x");
  ASSERT_EQ(a.size(), 1u);
  EXPECT_EQ(a[0].password, "p:with:colons");
  EXPECT_EQ(a[0].source, "ns/s key a.io");
  ASSERT_EQ(keyring.Match("b.io", "x").size(), 1u);
  EXPECT_EQ(keyring.Match("b.io", "x")[0].password, "p");
  ASSERT_EQ(keyring.Match("c.io", "x").size(), 1u);
  EXPECT_EQ(keyring.Match("c.io", "x")[0].identity_token, "refresh");
  ASSERT_EQ(keyring.Match("d.io", "x").size(), 1u);
  EXPECT_EQ(keyring.Match("d.io", "x")[0].registry_token, "bearer");
  EXPECT_THAT(Names(keyring, "e.io", "x"), ElementsAre("winner"));
}

TEST(KeyringTest, InvalidEntriesAreSkipped) {
  Keyring keyring =
      KeyringOf(R"("a":7,"b":{},"c":{"auth":"!"},"d":{"auth":"bm9jb2xvbg=="},"":{"username":"u"},
      "e":{"username":"a:b"},"f":{"registrytoken":"x\r\ny"},"g":{"registrytoken":"é"},)" +
                User("quay.io", "good"));
  EXPECT_EQ(keyring.size(), 1u);
  EXPECT_THAT(Names(keyring, "quay.io", "a"), ElementsAre("good"));
}

TEST(KeyringTest, RefusesOtherDocumentsWithoutQuotingThem) {
  Keyring keyring;
  for (std::string_view data :
       {"", "hunter2", "[]", "{}", R"({"auths":"hunter2"})", R"({"auths":{"hunter2)"}) {
    kube::Result<void> added = keyring.AddSecret("ns/s", kDockerConfigJsonType, data);
    ASSERT_TRUE(FailedWith(added, kube::Code::kInvalid)) << data;
    EXPECT_THAT(added.error().message(), HasSubstr("ns/s"));
    EXPECT_THAT(added.error().message(), Not(HasSubstr("hunter2")));
  }
  EXPECT_TRUE(FailedWith(keyring.AddSecret("ns/s", "Opaque", "{}"), kube::Code::kInvalid));
  EXPECT_TRUE(keyring.empty());
}

TEST(KeyringTest, ASecretThatIsTooLargeIsNamedAndAddsNothing) {
  Keyring keyring;
  std::string large = Auths(User("quay.io", "u") + R"(,"pad.io":{"username":")" +
                            std::string(kMaxPullSecretBytes, 'x') + "\"}");
  kube::Result<void> added = keyring.AddSecret("ns/large", kDockerConfigJsonType, large);
  ASSERT_TRUE(FailedWith(added, kube::Code::kInvalid));
  EXPECT_THAT(added.error().message(), HasSubstr("ns/large is larger than 64 KiB"));
  EXPECT_TRUE(keyring.empty());
}

// The credentials of a pod have a limit, whatever its secrets contain.
TEST(KeyringTest, AllSecretsTogetherAreLimitedInBytes) {
  std::string many;
  for (int i = 0; i < 60; ++i) {
    many += (i == 0 ? "" : ",") + User("r" + std::to_string(i) + ".io", std::string(900, 'x'));
  }
  Keyring keyring;
  int refused = 0;
  for (int i = 0; i < 32; ++i) {
    kube::Result<void> added =
        keyring.AddSecret("ns/" + std::to_string(i), kDockerConfigJsonType, Auths(many));
    refused += added ? 0 : 1;
    EXPECT_LE(keyring.bytes(), kMaxKeyringBytes);
  }
  EXPECT_GT(keyring.bytes(), kMaxKeyringBytes / 2);
  EXPECT_GT(refused, 0);
  EXPECT_LE(keyring.Match("r1.io", "a").size(), 16u);
}

TEST(KeyringTest, ACredentialTooLongForAHeaderIsSkipped) {
  EXPECT_TRUE(KeyringOf(User("quay.io", std::string(20'000, 'x'))).empty());
}

TEST(KeyringTest, TheMatchesOfAnImageAreLimitedInBytes) {
  Keyring keyring;
  for (int secret = 0; secret < 2; ++secret) {
    std::string users;
    for (int i = 4 * secret; i < 4 * secret + 4; ++i) {
      users += (users.empty() ? "" : ",") +
               User(std::string(i + 1, '*') + ".io", std::string(15'000, 'a' + i));
    }
    ASSERT_TRUE(
        keyring.AddSecret("ns/" + std::to_string(secret), kDockerConfigJsonType, Auths(users)));
  }
  EXPECT_EQ(keyring.Match("r.io", "a").size(), 4u);
}

TEST(KeyringTest, IdentityDependsOnTheContents) {
  Keyring keyring = KeyringOf(User("quay.io", "u"));
  std::string before = keyring.Identity();
  ASSERT_TRUE(keyring.Append(KeyringOf(User("r.io", "u"))));
  std::string after = keyring.Identity();
  EXPECT_NE(before, after);
  keyring.AddProblem("pull secret ns/s is larger than 64 KiB");
  EXPECT_NE(keyring.Identity(), after);
  EXPECT_EQ(Keyring().Identity(), "");
}

TEST(KeyringTest, IdentityDiffersByCredentialAndIsNotSecret) {
  Credential a{"u", "hunter2", "", "", "x"};
  Credential b{"u", "hunter3", "", "", "x"};
  Credential moved{"uh", "unter2", "", "", "x"};
  EXPECT_NE(a.Identity(), b.Identity());
  EXPECT_NE(a.Identity(), moved.Identity());
  EXPECT_EQ(a.Identity(), (Credential{"u", "hunter2", "", "", "other"}).Identity());
  EXPECT_THAT(a.Identity(), Not(HasSubstr("hunter2")));
}

TEST(KeyringTest, DamageIsHarmless) {
  ForMutations(
      {Auths(User("*.example.com:5000/a", "u") + R"(,"b.io":{"auth":"dTpw","identitytoken":"t"})")},
      5'000, [](const std::string& text) {
        Keyring keyring;
        kube::IgnoreError(keyring.AddSecret("ns/s", kDockerConfigJsonType, text),
                          "only a crash fails the test");
        EXPECT_LE(keyring.Match("a.example.com:5000", "a/b").size(), keyring.size());
      });
}

// A token that is renewed has the rights of the one before.
TEST(CredentialTest, WithNamedRightsTheSecretDoesNotCount) {
  Credential a{.username = "u", .password = "one", .rights = "cloud ECR in r"};
  Credential b = a;
  b.password = "two";
  EXPECT_EQ(a.Identity(), b.Identity());
  b.rights = "cloud ECR in s";
  EXPECT_NE(a.Identity(), b.Identity());
  EXPECT_NE(a.Identity(), (Credential{.username = "u", .password = "one"}).Identity());
}

TEST(KeyringTest, KnowsItsSecrets) {
  Keyring keyring;
  ASSERT_TRUE(keyring.AddSecret("ns/s", kDockerConfigJsonType,
                                R"({"auths":{"r.io":{"username":"u","password":"p"},
                                    "q.io":{"identitytoken":"i"},"t.io":{"registrytoken":"r"},
                                    "a.io":{"auth":"dTpj"}}})"));
  for (const char* secret : {"u", "p", "i", "r", "c"})
    EXPECT_TRUE(keyring.HasSecret(secret)) << secret;
  EXPECT_FALSE(keyring.HasSecret("absent"));
  EXPECT_FALSE(Keyring().HasSecret(""));
}

}  // namespace
}  // namespace inspection
