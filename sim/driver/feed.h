// SPDX-License-Identifier: Apache-2.0
// Feed: gives the commits of a store to the checker, and makes a hash of them, by which two runs
// are compared.
//
//   Feed feed(facts);
//   store.Observe([&](const kube::StoreCommit& commit) { feed.Add(commit, now); });
//   feed.Asked(attributes);          // of each write that goes through admission
//
// The hash has no certificates and nothing that is made of them: their keys are not of the seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kube/testing/fake_admission.h"
#include "kube/testing/store_commit.h"
#include "sim/checker/checker.h"
#include "sim/checker/facts.h"

namespace sim {

class Feed {
 public:
  // `facts` outlives it.
  explicit Feed(const checker::Facts& facts) : checker_(facts) {}

  void Asked(const kube::AdmissionAttributes& asked);
  void Add(const kube::StoreCommit& commit, checker::Time at);

  checker::Checker& checker() { return checker_; }
  uint64_t hash() const { return hash_; }
  // The stored Deployments.
  const std::map<kube::ObjectKey, std::shared_ptr<const kube::Json>>& deployments() const {
    return deployments_;
  }

 private:
  checker::Checker checker_;
  // FNV-1a.
  uint64_t hash_ = 14695981039346656037U;
  // Pods as their authors sent them, before they are stored, by uid: the API server has set it.
  std::map<std::string, std::shared_ptr<const kube::Json>> sent_;
  std::map<kube::ObjectKey, std::shared_ptr<const kube::Json>> deployments_;
};

}  // namespace sim
