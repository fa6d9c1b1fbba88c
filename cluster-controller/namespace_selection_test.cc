// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/namespace_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
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

TEST_F(NamespaceSelectionTest, ANamespaceWithTheLabelThatOptsOutIsNotSelected) {
  Create("shop", "");
  Create("farm", std::string(api::kExcludeLabel));
  LabelSelector all;
  all.add_match_expressions()->set_key("team");
  all.mutable_match_expressions(0)->set_operator_("DoesNotExist");
  for (const std::optional<LabelSelector>& selector :
       {std::optional<LabelSelector>(), std::optional(LabelSelector()), std::optional(all)}) {
    EXPECT_TRUE(IsSelected("shop", selector));
    EXPECT_FALSE(IsSelected("farm", selector));
  }
  EXPECT_TRUE(IsSelected("deleted"));
}

TEST_F(NamespaceSelectionTest, WhatCannotBeDecidedIsUnknown) {
  auto decide = [&](const std::string& ns, std::optional<LabelSelector> selector) {
    return kube::Run(io_, namespaces_.Decide(ns, std::move(selector))).value();
  };
  Create("shop", "");
  LabelSelector invalid;
  invalid.add_match_expressions()->set_operator_("Near");
  EXPECT_EQ(decide("shop", {}), true);
  EXPECT_EQ(decide("shop", invalid), std::nullopt);
  EXPECT_TRUE(IsSelected("shop", invalid));
  EXPECT_EQ(decide("deleted", {}), std::nullopt);
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "no"));
  EXPECT_EQ(decide("shop", {}), std::nullopt);
  api_.FailNext(kube::Error::Unavailable("503"));
  EXPECT_FALSE(kube::Run(io_, namespaces_.Decide("shop", {})).has_value());
}

}  // namespace
}  // namespace cluster_controller
