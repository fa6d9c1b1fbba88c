// SPDX-License-Identifier: Apache-2.0
// NamedObjects: checks the objects that the ClusterPodPlacementConfig names. The cluster controller
// uses them and ignores unusable ones, so the config's status reports them to the administrator.
// Thread: the client's.
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
  // `client` outlives this. `ns`: the operator's namespace, where the objects are.
  NamedObjects(kube::Client& client, std::string ns) : client_(client), ns_(std::move(ns)) {}

  // The problems of the objects that `spec` names, each with field, object, key and line; nullopt
  // for none. Errors: the API server's.
  kube::Async<std::optional<Problem>> Check(api::ClusterPodPlacementConfigSpec spec);

 private:
  // The result for one resourceVersion of an object, which is then not parsed again.
  struct Verdict {
    std::string version;
    std::string problems;
  };

  // The problems that `check` finds in the object that `field` names, as a sentence; "" for none.
  template <class T>
  kube::Async<std::string> ProblemsOf(std::string_view field, std::string name,
                                      std::string (*check)(const T&));

  kube::Client& client_;
  std::string ns_;
  std::map<std::string, Verdict, std::less<>> verdicts_;  // by field
};

}  // namespace operator_
