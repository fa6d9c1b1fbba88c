// SPDX-License-Identifier: Apache-2.0
// RegistryFixture: the fixture of a test with a fake registry, and texts that configure access to
// registries.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "inspection/config/credentials.h"
#include "inspection/testing/fake_registry.h"

namespace inspection {

// A registries.conf that makes the registry at `host` insecure.
inline std::string InsecureRegistriesConf(const std::string& host) {
  return "[[registry]]\nlocation = \"" + host + "\"\ninsecure = true\n";
}

// The keyring of a Secret "ns/USER" for the registry at `host`.
inline SharedKeyring NewKeyring(const std::string& host, const std::string& user,
                                const std::string& password) {
  Keyring keyring;
  kube::Result<void> added =
      keyring.AddSecret("ns/" + user, kDockerConfigJsonType,
                        R"({"auths":{")" + host + R"(":{"username":")" + user +
                            R"(","password":")" + password + R"("}}})");
  EXPECT_TRUE(added) << added.error();
  return std::make_shared<const Keyring>(std::move(keyring));
}

class RegistryFixture : public ::testing::Test {
 protected:
  boost::asio::io_context io_;
  FakeRegistry registry_{io_.get_executor(), {}};
};

}  // namespace inspection
