// SPDX-License-Identifier: Apache-2.0
// NamespaceReader: the labels of a namespace from the API server, for one that the watch does not
// have yet. Concurrent calls for a namespace share one GET; time and number of the GETs are
// bounded, because users who may create namespaces determine how many are needed.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "kube/base/async.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"
#include "placement/selector.h"

namespace policy {

// A call that joins waits for the GET before its own too: both fit into the 3 s of the API server.
inline constexpr std::chrono::milliseconds kNamespaceReadTimeout{1'000};
// GETs of different namespaces at a time.
inline constexpr size_t kMaxNamespaceReads = 16;

class NamespaceReader {
 public:
  // `client` outlives the reader.
  explicit NamespaceReader(kube::Client& client) : client_(client) {}

  // Errors: kThrottled above kMaxNamespaceReads, kNotFound, those of the API server.
  kube::Async<placement::Labels> Read(std::string ns);

 private:
  kube::Client& client_;
  std::map<std::string, kube::SharedCall<placement::Labels>> reads_;
};

}  // namespace policy
