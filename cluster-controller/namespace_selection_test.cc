// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/namespace_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using kube::core::Namespace;
using kube::meta::LabelSelector;

class NamespaceSelectionTest : public ::testing::Test {
 protected:
  void Create(const std::string& name, const std::string& label) {
    Namespace ns;
    ns.mutable_metadata()->set_name(name);
    if (!label.empty()) (*ns.mutable_metadata()->mutable_labels())[label] = "";
    api_.Create(ns);
  }
  bool IsSelected(const std::string& ns, std::optional<LabelSelector> selector = {}) {
    return kube::Run(io_, namespaces_.IsSelected(ns, std::move(selector))).value();
  }

  kube::asio::io_context io_;
  kube::FakeApiServer api_;
  NamespaceSelection namespaces_{api_, *api::ExcludedNamespaces::Parse("openshift-*")};
};

TEST_F(NamespaceSelectionTest, AnExcludedNamespaceIsSelectedOnlyWithTheLabel) {
  Create("openshift-a", "team");
  Create("openshift-b", std::string(api::kIncludeLabel));
  LabelSelector team;
  team.add_match_expressions()->set_key("team");
  team.mutable_match_expressions(0)->set_operator_("Exists");
  EXPECT_FALSE(IsSelected("openshift-a"));
  EXPECT_FALSE(IsSelected("openshift-a", LabelSelector()));
  EXPECT_FALSE(IsSelected("openshift-a", team));
  EXPECT_TRUE(IsSelected("openshift-b"));
  EXPECT_FALSE(IsSelected("openshift-b", team));
}

TEST_F(NamespaceSelectionTest, OtherNamespacesAreNotReadWithoutASelector) {
  EXPECT_TRUE(IsSelected("shop"));
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

}  // namespace
}  // namespace cluster_controller
