// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/secret_path.h"

#include <gtest/gtest.h>

#include <string>

#include "ephemeral-containers/names.h"
#include "kube/testing/fake_clock.h"

namespace ephemeral {
namespace {

TEST(SecretPathTest, DependsOnTheKeyAlone) {
  std::string path = SecretPath("key");
  // printf %s /ephemeral-container-warnings | openssl dgst -sha256 -hmac key
  EXPECT_EQ(path, std::string(kWarningsPath) + "/" +
                      "402f5e63a7765b3dc18411212d63914ed42023c3283a4709cf551dcc5527da2f");
  EXPECT_NE(path, SecretPath("other"));
  EXPECT_TRUE(IsSecretPath(path));
}

TEST(SecretPathTest, OtherPathsAreNone) {
  const std::string path = SecretPath("key");
  for (const std::string& other :
       {std::string(), std::string(kWarningsPath), std::string(kWarningsPath) + "/", path + "0",
        "/x" + path, path.substr(0, path.size() - 1) + "G", path.substr(0, path.size() - 1)}) {
    EXPECT_FALSE(IsSecretPath(other)) << other;
  }
}

TEST(SecretPathsTest, OnlyThePathOfTheKeyIsAdmitted) {
  kube::FakeClock clock;
  SecretPaths paths(clock);
  paths.SetKey("key");
  EXPECT_TRUE(paths.Admits(SecretPath("key")));
  std::string wrong = SecretPath("key");
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& other :
       {std::string(), std::string("/"), std::string(kWarningsPath), SecretPath("other"),
        SecretPath(""), wrong, SecretPath("key") + "/", SecretPath("key").substr(1)}) {
    EXPECT_FALSE(paths.Admits(other)) << other;
  }
}

TEST(SecretPathsTest, WithoutAKeyNothingIsAdmitted) {
  kube::FakeClock clock;
  SecretPaths paths(clock);
  paths.SetKey("");
  EXPECT_FALSE(paths.Admits(SecretPath("")));
  EXPECT_FALSE(paths.Admits(""));
}

// Also if no request came with the previous key.
TEST(SecretPathsTest, ThePreviousPathIsAdmittedUntilTheApiServerHasTheNewOne) {
  kube::FakeClock clock;
  SecretPaths paths(clock);
  paths.SetKey("a");
  paths.SetKey("b");
  paths.SetKey("b");
  clock.Advance(kNewPathAfter);
  EXPECT_TRUE(paths.Admits(SecretPath("a")));
  EXPECT_TRUE(paths.Admits(SecretPath("b")));
  clock.Advance(kPreviousPathFor - kNewPathAfter);
  EXPECT_FALSE(paths.Admits(SecretPath("a")));
  EXPECT_TRUE(paths.Admits(SecretPath("b")));
}

}  // namespace
}  // namespace ephemeral
