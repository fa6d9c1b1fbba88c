// SPDX-License-Identifier: Apache-2.0
#include "placement/node_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/names.h"
#include "kube/testing/make_pod.h"
#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"
#include "placement/label_range.h"

namespace placement {
namespace {

using kube::Json;
using kube::MakePod;
using kube::core::Pod;

const std::string kArch(api::kArchLabel);
const std::string kOs(api::kOsLabel);

// Adds an expression to the last term.
Pod And(Pod pod, const std::string& key, const std::string& op,
        const std::vector<std::string>& values) {
  auto& terms = *pod.mutable_spec()
                     ->mutable_affinity()
                     ->mutable_node_affinity()
                     ->mutable_required_during_scheduling_ignored_during_execution()
                     ->mutable_node_selector_terms();
  auto& expression = *terms.rbegin()->add_match_expressions();
  expression.set_key(key);
  expression.set_operator_(op);
  for (const std::string& value : values) expression.add_values(value);
  return pod;
}

void AddNode(NodeOffers& offers, const std::string& os, const std::string& architecture) {
  NodeOffers::Labels labels;
  if (!os.empty()) labels[kOs] = os;
  if (!architecture.empty()) labels[kArch] = architecture;
  offers.AddNode(labels);
}

// "nothing" if there is nothing to look for.
std::string Required(const Pod& pod) {
  std::optional<RequiredPlatforms> required = RequiredPlatformsOf(pod);
  return required ? Describe(*required) : "nothing";
}

TEST(NodeOffersTest, WhatAPodRequires) {
  struct Row {
    const char* name;
    Pod pod;
    const char* required;
  };
  const Row rows[] = {
      {"nothing", MakePod(""), "nothing"},
      {"another label", MakePod("").Requires("zone", "In", {"a"}), "nothing"},
      {"the requirement", MakePod("").Requires(kArch, "In", {"arm64", "amd64"}), "amd64, arm64"},
      {"with an operating system",
       And(MakePod("").Requires(kArch, "In", {"amd64"}), kOs, "In", {"windows"}),
       "amd64 with the operating system windows"},
      {"with other labels", And(MakePod("").Requires(kArch, "In", {"amd64"}), "zone", "In", {"a"}),
       "amd64"},
      {"only an operating system", MakePod("").Requires(kOs, "In", {"windows"}), "nothing"},
      {"the same in several terms",
       And(MakePod("").Requires(kArch, "In", {"arm64"}).Requires(kArch, "In", {"arm64"}), kOs,
           "Exists", {}),
       "arm64"},
      {"different terms",
       MakePod("").Requires(kArch, "In", {"arm64"}).Requires(kArch, "In", {"s390x"}),
       "arm64; s390x"},
      {"a term that takes every architecture",
       MakePod("").Requires(kArch, "In", {"arm64"}).Requires("zone", "In", {"a"}), "nothing"},
      {"the author's NotIn", MakePod("").Requires(kArch, "NotIn", {"amd64"}), "any but amd64"},
      {"the author's Exists", MakePod("").Requires(kArch, "Exists"), "nothing"},
      {"the author's DoesNotExist", MakePod("").Requires(kArch, "DoesNotExist"), "none"},
      {"the author's Gt", MakePod("").Requires(kArch, "Gt", {"1"}), "nothing"},
      {"the author's selector", MakePod("").NodeSelector(kArch, "arm64"), "arm64"},
      {"the author's selector, for all terms",
       MakePod("")
           .NodeSelector(kArch, "arm64")
           .NodeSelector(kOs, "linux")
           .Requires("zone", "In", {"a"})
           .Requires("zone", "In", {"b"}),
       "arm64 with the operating system linux"},
      {"the author's own, and the requirement",
       And(MakePod("").Requires(kArch, "NotIn", {"amd64"}), kArch, "In", {"amd64", "arm64"}),
       "arm64"},
      // The event NoSupportedArchitecturesFound is about these.
      {"no architecture in common",
       MakePod("").Requires(std::string(api::kNoSupportedArchLabel), "Exists"), "nothing"},
      {"a contradiction", And(MakePod("").Requires(kArch, "In", {"arm64"}), kArch, "In", {"amd64"}),
       "nothing"},
      {"a contradiction about the system",
       And(MakePod("").NodeSelector(kOs, "linux").Requires(kArch, "In", {"arm64"}), kOs, "In",
           {"windows"}),
       "nothing"},
      {"none in one of the terms",
       MakePod("")
           .Requires(std::string(api::kNoSupportedArchLabel), "Exists")
           .Requires(kArch, "In", {"arm64"}),
       "arm64"},
  };
  for (const Row& row : rows) EXPECT_EQ(Required(row.pod), row.required) << row.name;
}

// As for the scheduler.
TEST(NodeOffersTest, ATermWithoutExpressionsMatchesNoNode) {
  Pod pod = MakePod("").Requires(kArch, "In", {"arm64"});
  pod.mutable_spec()
      ->mutable_affinity()
      ->mutable_node_affinity()
      ->mutable_required_during_scheduling_ignored_during_execution()
      ->add_node_selector_terms();
  EXPECT_EQ(Required(pod), "arm64");
}

TEST(NodeOffersTest, APodBeyondTheLimitsIsNotLookedFor) {
  MakePod terms("");
  for (int i = 0; i < kMaxRequiredTerms; ++i) terms.Requires(kArch, "In", {"arm64"});
  EXPECT_EQ(Required(terms), "arm64");
  EXPECT_EQ(Required(terms.Requires(kArch, "In", {"arm64"})), "nothing");

  MakePod values("");
  for (size_t i = 0; i < kMaxRequiredValues; ++i)
    values.Requires(kArch, "In", {"a" + std::to_string(i)});
  EXPECT_NE(Required(values), "nothing");
  EXPECT_EQ(Required(values.Requires(kArch, "In", {"b"})), "nothing");

  // As if that expression were not there.
  Pod wide = MakePod("").Requires(kArch, "In");
  for (size_t i = 0; i <= kMaxLabelValues; ++i) {
    wide.mutable_spec()
        ->mutable_affinity()
        ->mutable_node_affinity()
        ->mutable_required_during_scheduling_ignored_during_execution()
        ->mutable_node_selector_terms(0)
        ->mutable_match_expressions(0)
        ->add_values(std::to_string(i));
  }
  EXPECT_EQ(Required(wide), "nothing");
}

bool Fit(const NodeOffers& offers, const Pod& pod) {
  return offers.Fit(RequiredPlatformsOf(pod).value());
}

TEST(NodeOffersTest, NodesOfferTheirLabels) {
  NodeOffers offers;
  AddNode(offers, "linux", "amd64");
  AddNode(offers, "linux", "arm64");
  AddNode(offers, "windows", "amd64");
  struct Row {
    const char* name;
    Pod pod;
    bool fit;
  };
  auto in = [](const std::string& architecture, const std::string& os) {
    return And(MakePod("").Requires(kArch, "In", {architecture}), kOs, "In", {os});
  };
  const Row rows[] = {
      {"one", MakePod("").Requires(kArch, "In", {"arm64"}), true},
      {"one of several", MakePod("").Requires(kArch, "In", {"arm64", "s390x"}), true},
      {"none", MakePod("").Requires(kArch, "In", {"s390x"}), false},
      {"one of several terms",
       MakePod("").Requires(kArch, "In", {"s390x"}).Requires(kArch, "In", {"amd64"}), true},
      {"none of several terms",
       MakePod("").Requires(kArch, "In", {"s390x"}).Requires(kArch, "In", {"ppc64le"}), false},
      {"with the system of the same node", in("amd64", "windows"), true},
      {"with the system of another node", in("arm64", "windows"), false},
      {"with a system that no node has", in("amd64", "freebsd"), false},
      {"all but one", MakePod("").Requires(kArch, "NotIn", {"amd64"}), true},
      {"by the selector", MakePod("").NodeSelector(kArch, "s390x"), false},
  };
  for (const Row& row : rows) EXPECT_EQ(Fit(offers, row.pod), row.fit) << row.name;
}

TEST(NodeOffersTest, ANodeWithoutLabelsFitsOnlyWhatAllowsThat) {
  NodeOffers offers;
  AddNode(offers, "", "");
  EXPECT_FALSE(Fit(offers, MakePod("").Requires(kArch, "In", {"arm64"})));
  EXPECT_TRUE(Fit(offers, MakePod("").Requires(kArch, "NotIn", {"amd64"})));
}

// A list in braces with one element would be that element, as JSON.
using Values = std::vector<std::string>;
using All = std::vector<Json>;

Json Pool(const Json& requirements, const Json& labels = Json::object()) {
  Json pool = {{"metadata", {{"name", "a"}}}};
  pool["spec"]["template"] = {{"metadata", {{"labels", labels}}},
                              {"spec", {{"requirements", requirements}}}};
  return pool;
}

Json Requirement(const std::string& key, const std::string& op, const Json& values) {
  return {{"key", key}, {"operator", op}, {"values", values}};
}

TEST(NodeOffersTest, NodePoolsOfferWhatTheirRequirementsAllow) {
  struct Row {
    const char* name;
    Json pool;
    bool arm64;
    bool windows_amd64;
  };
  const Json arm64 = Requirement(kArch, "In", Values{"arm64"});
  const Row rows[] = {
      {"In", Pool(All{arm64}), true, false},
      {"In, several", Pool(All{Requirement(kArch, "In", Values{"amd64", "s390x"})}), false, true},
      {"NotIn", Pool(All{Requirement(kArch, "NotIn", Values{"arm64"})}), false, true},
      {"Exists", Pool(All{Requirement(kArch, "Exists", Values{})}), true, true},
      {"DoesNotExist", Pool(All{Requirement(kArch, "DoesNotExist", Values{})}), false, false},
      {"Gt", Pool(All{Requirement(kArch, "Gt", Values{"1"})}), true, true},
      {"Gte, of newer versions", Pool(All{Requirement(kArch, "Gte", Values{"1"})}), true, true},
      {"all of them", Pool(All{Requirement(kArch, "In", Values{"amd64", "arm64"}), arm64}), true,
       false},
      {"other keys", Pool(All{Requirement("zone", "In", Values{"a"})}), true, true},
      {"no requirements", Pool(Json::array()), true, true},
      {"linux alone", Pool(All{Requirement(kOs, "In", Values{"linux"})}), true, false},
      {"windows alone", Pool(All{Requirement(kOs, "In", Values{"windows"})}), true, true},
      {"a label", Pool(Json::array(), {{kArch, "s390x"}}), false, false},
      {"a label and a requirement", Pool(All{arm64}, {{kArch, "arm64"}, {kOs, "linux"}}), true,
       false},
      // Wrong types count as if they were not there.
      {"no list", Pool("arm64"), true, true},
      {"values that are no strings", Pool(All{Requirement(kArch, "In", {1, 2})}), true, true},
      {"values that are no list", Pool(All{Requirement(kArch, "NotIn", "arm64")}), true, true},
      {"In, and values that are no list", Pool(All{Requirement(kArch, "In", "s390x")}), true, true},
      {"a requirement that is no object", Pool(All{"arm64"}), true, true},
      {"labels that are no object", Pool(All{arm64}, "arm64"), true, false},
      {"a label that is no string", Pool(All{arm64}, {{kArch, 1}}), true, false},
      {"no object", Json("pool"), true, true},
  };
  for (const Row& row : rows) {
    NodeOffers offers;
    offers.AddNodePool(row.pool);
    EXPECT_EQ(Fit(offers, MakePod("").Requires(kArch, "In", {"arm64"})), row.arm64) << row.name;
    Pod windows = And(MakePod("").Requires(kArch, "In", {"amd64"}), kOs, "In", {"windows"});
    EXPECT_EQ(Fit(offers, windows), row.windows_amd64) << row.name;
  }
}

TEST(NodeOffersTest, ANodePoolThatIsBeingDeletedOffersNothing) {
  Json pool = Pool(All{Requirement(kArch, "In", Values{"arm64"})});
  pool["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  NodeOffers offers;
  offers.AddNodePool(pool);
  EXPECT_FALSE(Fit(offers, MakePod("").Requires(kArch, "In", {"arm64"})));
}

TEST(NodeOffersTest, ALongListOfValuesCountsAsEveryValue) {
  Json values = Json::array();
  for (size_t i = 0; i <= kMaxLabelValues; ++i) values.push_back("a" + std::to_string(i));
  NodeOffers offers;
  offers.AddNodePool(Pool(All{Requirement(kArch, "In", values)}));
  EXPECT_TRUE(Fit(offers, MakePod("").Requires(kArch, "In", {"arm64"})));
}

TEST(NodeOffersTest, WhatIsNotKnownFits) {
  const Pod pod = MakePod("").Requires(kArch, "In", {"arm64"});
  NodeOffers offers;
  EXPECT_FALSE(Fit(offers, pod));
  offers.AddUnknown();
  EXPECT_TRUE(Fit(offers, pod));

  NodeOffers many;
  for (size_t i = 0; i < kMaxNodeOffers; ++i) {
    AddNode(many, "linux", "a" + std::to_string(i));
    AddNode(many, "linux", "a" + std::to_string(i));
  }
  EXPECT_FALSE(Fit(many, pod));
  AddNode(many, "linux", "one-more");
  EXPECT_TRUE(Fit(many, pod));
}

}  // namespace
}  // namespace placement
