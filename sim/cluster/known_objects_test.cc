// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/known_objects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

constexpr char kPolicies[] = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
constexpr char kNamespaces[] = "/api/v1/namespaces";
constexpr size_t kObjects = 8;

class KnownObjectsTest : public testing::Test {
 protected:
  void Store(const std::string& collection, const std::string& name, bool exists = true) {
    known_.OnCommit({.version = ++version_,
                     .collection = collection,
                     .key = {"", name},
                     .after = exists ? std::make_shared<const Json>(Json::object()) : nullptr});
  }
  void StoreAll(const std::string& collection) {
    for (size_t i = 0; i < kObjects; ++i) Store(collection, std::to_string(i));
  }
  void Pass(kube::Duration time) { loop_.RunUntil(loop_.now() + time); }

  Loop loop_{Random(1)};
  KnownObjects known_{loop_, Random(2), {kPolicies, kNamespaces}};
  uint64_t version_ = 0;
};

TEST_F(KnownObjectsTest, ChangesBecomeKnown) {
  StoreAll(kPolicies);
  EXPECT_LT(known_.Of(kPolicies).size(), kObjects);
  Pass(KnownObjects::kLatest);
  EXPECT_EQ(known_.Of(kPolicies).size(), kObjects);
  Store(kPolicies, "0", /*exists=*/false);
  Pass(KnownObjects::kLatest);
  EXPECT_EQ(known_.Get(kPolicies, {"", "0"}), nullptr);
  EXPECT_NE(known_.Get(kPolicies, {"", "1"}), nullptr);
}

TEST_F(KnownObjectsTest, ThoseOfDelayedCollectionsLater) {
  known_.Delay({kPolicies}, 25s);
  StoreAll(kPolicies);
  StoreAll(kNamespaces);
  Pass(KnownObjects::kLatest);
  EXPECT_LT(known_.Of(kPolicies).size(), kObjects);
  EXPECT_EQ(known_.Of(kNamespaces).size(), kObjects);
  Pass(25s);
  EXPECT_EQ(known_.Of(kPolicies).size(), kObjects);
}

}  // namespace
}  // namespace sim
