// SPDX-License-Identifier: Apache-2.0
// PodFinder: reads the pod of an ENoExecEvent: the one that it names, or else the one with its UID
// among the pods of its node. Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "exec-format/e_no_exec_event.h"
#include "exec-format/handler/finding.h"
#include "kube/base/async.h"
#include "kube/base/lru_map.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// Of a pod, as JSON. A larger one is not examined: decoded, it takes several times as much.
inline constexpr size_t kMaxPodBytes = 512u << 10;
// Of the list of a node's pods: at most some 3,000 pods.
inline constexpr int kPodsOfAPage = 500;
inline constexpr int kMaxPodPages = 8;
// UIDs whose names are kept.
inline constexpr size_t kMaxNames = 1'024;

class PodFinder {
 public:
  struct Found {
    std::optional<kube::Json> pod;
    // Without a pod.
    Skipped why = Skipped::kNotMatched;
  };

  // `client` outlives it.
  explicit PodFinder(kube::Client& client) : client_(client), metadata_(client) {}

  // `event` outlives the call. Errors: those of the API server, except kNotFound.
  kube::Async<Found> Find(const ENoExecEvent& event);

 private:
  kube::Async<std::optional<kube::ObjectKey>> FindByUid(std::string uid, std::string node);

  kube::Client& client_;
  kube::MetadataLists metadata_;
  kube::LruMap<kube::ObjectKey> names_{kMaxNames};
};

}  // namespace exec_format
