// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "inspection/testing/test_folder.h"

namespace inspection {
namespace {

class FingerprintTest : public TestFolder {
 protected:
  ContainerdHosts Hosts(const std::string& folder, const std::string& toml) {
    Write(folder + "/r.io/hosts.toml", toml);
    auto hosts = ContainerdHosts::Read(root_ + "/" + folder);
    EXPECT_TRUE(hosts) << hosts.error();
    return hosts ? *hosts : ContainerdHosts();
  }
};

TEST_F(FingerprintTest, EachPartCounts) {
  const ContainerdHosts mirror = Hosts("a", "[host.\"https://m.io\"]\n");
  const ContainerdHosts other_path =
      Hosts("b", "[host.\"https://m.io/v2/p\"]\noverride_path = true\n");
  const ContainerdHosts header = Hosts("c", "[host.\"https://m.io\".header]\nx = \"1\"\n");
  const std::vector<std::function<void(InspectorConfig&)>> changes = {
      [](InspectorConfig&) {},
      [](InspectorConfig& c) { c.registries_conf = "a"; },
      [](InspectorConfig& c) { c.registries_conf_drop_ins = {"a"}; },
      [](InspectorConfig& c) {
        c.registries_conf_drop_ins = {"a", ""};
      },
      [](InspectorConfig& c) { c.ca_bundle_pem = "a"; },
      [](InspectorConfig& c) { c.policy_json = "a"; },
      [](InspectorConfig& c) { c.certificates["a"] = {}; },
      [](InspectorConfig& c) { c.certificates["a"].ca_pem = "b"; },
      [](InspectorConfig& c) { c.certificates["a"].cert_pem = "b"; },
      [](InspectorConfig& c) { c.certificates["a"].key_pem = "b"; },
      [](InspectorConfig& c) { c.certificates["a"].problem = "b"; },
      [&](InspectorConfig& c) { c.containerd_hosts = mirror; },
      [&](InspectorConfig& c) { c.containerd_hosts = other_path; },
      [&](InspectorConfig& c) { c.containerd_hosts = header; },
      [](InspectorConfig& c) { c.cluster_rules.mirrors = {{.source = "a"}}; },
      [](InspectorConfig& c) { c.cluster_rules.mirrors = {{.source = "a", .mirrors = {"b"}}}; },
      [](InspectorConfig& c) { c.cluster_rules.mirrors = {{.source = "a", .for_digests = false}}; },
      [](InspectorConfig& c) { c.cluster_rules.mirrors = {{.source = "a", .never_source = true}}; },
      [](InspectorConfig& c) { c.cluster_rules.insecure = {"a"}; },
      [](InspectorConfig& c) { c.cluster_rules.blocked = {"a"}; },
      [](InspectorConfig& c) { c.cluster_rules.allowed = {"a"}; },
      [](InspectorConfig& c) { c.cluster_rules.search = {"a"}; },
  };
  std::set<std::string> fingerprints;
  for (const auto& change : changes) {
    InspectorConfig config;
    change(config);
    InspectorConfig same;
    change(same);
    EXPECT_EQ(Fingerprint(config), Fingerprint(same));
    fingerprints.insert(Fingerprint(config));
  }
  EXPECT_EQ(fingerprints.size(), changes.size());
}

TEST_F(FingerprintTest, CredentialProvidersDoNotCount) {
  InspectorConfig config;
  config.credential_providers.providers.push_back({.name = "ecr"});
  EXPECT_EQ(Fingerprint(config), Fingerprint({}));
}

}  // namespace
}  // namespace inspection
