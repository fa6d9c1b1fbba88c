// SPDX-License-Identifier: Apache-2.0
#include "operator/named_objects.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace operator_ {
namespace {

// Another leader, or another version of the ConfigMap, gives the same condition.
TEST(NamedObjectsTest, ProblemsOfABundleAreInTheOrderOfItsKeys) {
  boost::asio::io_context io;
  kube::FakeClock clock;
  kube::FakeApiServer api(clock);
  kube::core::ConfigMap bundle;
  bundle.mutable_metadata()->set_name("bundle");
  bundle.mutable_metadata()->set_namespace_("ops");
  for (const char* key : {"d.crt", "b.crt", "a.crt", "f.crt", "c.crt", "e.crt"})
    (*bundle.mutable_data())[key] = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
  api.Create(bundle);
  api::ClusterPodPlacementConfigSpec spec;
  spec.ca_bundle_config_map = "bundle";
  for (int i = 0; i < 5; ++i) {
    NamedObjects objects(api, "ops");
    kube::Result<std::optional<Problem>> checked = kube::Run(io, objects.Check(spec));
    ASSERT_THAT(checked, kube::IsOk());
    ASSERT_TRUE(*checked);
    const std::string& message = (*checked)->message;
    std::string keys;
    for (size_t at = message.find(".crt"); at != std::string::npos;
         at = message.find(".crt", at + 1))
      keys += message[at - 1];
    EXPECT_EQ(keys, "abcdef") << message;
  }
}

}  // namespace
}  // namespace operator_
