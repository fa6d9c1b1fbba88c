// SPDX-License-Identifier: Apache-2.0
// NamedObjects: whether the objects that the ClusterPodPlacementConfig names can be used. The
// cluster's controller uses them; one that it cannot use it ignores, so it is this that tells the
// administrator. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/status/rollout.h"

namespace operator_ {

class NamedObjects {
 public:
  // `client` outlives it; `ns`: the operator's namespace, where the objects are.
  NamedObjects(kube::Client& client, std::string ns) : client_(client), ns_(std::move(ns)) {}

  // What is wrong with the objects that `spec` names: each with field, object, key and line.
  // nullopt for nothing. Errors: the API server's.
  kube::Async<std::optional<Problem>> Check(api::ClusterPodPlacementConfigSpec spec);

 private:
  // What was found in an object holds for its resourceVersion: it need not be parsed again.
  struct Verdict {
    std::string version;
    std::string problems;
  };

  // What `judge` finds in the object that `field` names, as a sentence; "" for nothing.
  template <class T>
  kube::Async<std::string> ProblemsOf(std::string_view field, std::string name,
                                      std::string (*judge)(const T&));

  kube::Client& client_;
  std::string ns_;
  std::map<std::string, Verdict, std::less<>> verdicts_;  // by field
};

}  // namespace operator_
