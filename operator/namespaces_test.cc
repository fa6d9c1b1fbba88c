// SPDX-License-Identifier: Apache-2.0
#include "operator/namespaces.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "api/excluded_namespaces.h"
#include "api/names.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace operator_ {
namespace {

using kube::core::Namespace;
using kube::meta::LabelSelector;
using namespace std::chrono_literals;

Namespace Make(const std::string& name, const std::map<std::string, std::string>& labels) {
  Namespace ns;
  ns.mutable_metadata()->set_name(name);
  for (const auto& [key, value] : labels) (*ns.mutable_metadata()->mutable_labels())[key] = value;
  return ns;
}

class NamespacesTest : public testing::Test {
 protected:
  void SetUp() override {
    namespaces_.OnNamespace([this](const std::string& ns) { notified_.push_back(ns); });
    namespaces_.Start(tasks_);
    ASSERT_THAT(kube::Run(io_, namespaces_.WaitForSync()), kube::IsOk());
  }
  void TearDown() override {
    ASSERT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  static LabelSelector TeamA() {
    LabelSelector selector;
    (*selector.mutable_match_labels())["team"] = "a";
    return selector;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  Namespaces namespaces_{api_, clock_, *api::ExcludedNamespaces::Parse("openshift-*")};
  std::vector<std::string> notified_;
};

TEST_F(NamespacesTest, SelectsByLabelsAsTheyAreNow) {
  api_.Create<Namespace>(Make("shop", {{"team", "a"}}));
  api_.Create<Namespace>(Make("farm", {{"team", "b"}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "shop"), true);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "farm"), false);
  notified_.clear();
  api_.Update<Namespace>(Make("farm", {{"team", "a"}}));
  kube::Drain(io_);
  EXPECT_EQ(notified_, std::vector<std::string>{"farm"});
  EXPECT_EQ(namespaces_.Selects(TeamA(), "farm"), true);
}

TEST_F(NamespacesTest, WithoutASelectorEachNamespaceIsSelectedUnlessItOptsOut) {
  // It may have the label.
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "new"), std::nullopt);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "new"), std::nullopt);
  EXPECT_FALSE(namespaces_.OptsOut("new"));
  api_.Create<Namespace>(Make("new", {{"team", "a"}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "new"), true);
  EXPECT_EQ(namespaces_.Selects(LabelSelector(), "new"), true);
  EXPECT_FALSE(namespaces_.OptsOut("new"));
  api_.Update<Namespace>(Make("new", {{"team", "a"}, {std::string(api::kExcludeLabel), ""}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "new"), false);
  EXPECT_EQ(namespaces_.Selects(LabelSelector(), "new"), false);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "new"), false);
  EXPECT_TRUE(namespaces_.OptsOut("new"));
}

TEST_F(NamespacesTest, AnExcludedNamespaceIsSelectedOnlyWithTheLabel) {
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "openshift-new"), std::nullopt);
  api_.Create<Namespace>(Make("openshift-a", {{"team", "a"}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "openshift-a"), false);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "openshift-a"), false);
  const std::string label(api::kIncludeLabel);
  api_.Update<Namespace>(Make("openshift-a", {{"team", "a"}, {label, ""}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(std::nullopt, "openshift-a"), true);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "openshift-a"), true);
  api_.Update<Namespace>(Make("openshift-a", {{"team", "b"}, {label, ""}}));
  kube::Drain(io_);
  EXPECT_EQ(namespaces_.Selects(TeamA(), "openshift-a"), false);
}

TEST_F(NamespacesTest, AnInvalidSelectorSelectsNothing) {
  api_.Create<Namespace>(Make("shop", {{"team", "a"}}));
  kube::Drain(io_);
  LabelSelector selector = TeamA();
  auto* expression = selector.add_match_expressions();
  expression->set_key("team");
  expression->set_operator_("Near");
  EXPECT_EQ(namespaces_.Selects(selector, "shop"), false);
}

}  // namespace
}  // namespace operator_
