// SPDX-License-Identifier: Apache-2.0
// PathWatch: the path of the webhook. The API server alone knows its last part, so no other client
// can send reviews. That part is a token (kube/crypto/secret_token.h) in the Secret of the
// webhook's certificate, which is watched: another token is used at once, and the previous one no
// more. While the Secret or the token is missing, the last one stays in use, as the API server has
// no other.
//
//   PathWatch path(client, clock, operator_namespace);
//   path.Start(tasks);
//   server.Admit([&path](std::string_view requested) { return path.Admits(requested); });
//
// Thread: the client's.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"

namespace ephemeral {

class PathWatch {
 public:
  // `client` and `clock` outlive it. `ns`: the operator's namespace.
  PathWatch(kube::Client& client, kube::Clock& clock, std::string ns);

  // Starts the watch; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks) { tasks.Spawn("watch-path", secret_.Run()); }
  // Whether there has been a token. Without one, nothing is admitted.
  bool known() const { return !path_.empty(); }
  // Its time does not depend on how much of `path` is right.
  bool Admits(std::string_view path) const;

 private:
  void Use(const kube::core::Secret& secret);

  kube::Informer<kube::core::Secret> secret_;
  std::string path_;
};

}  // namespace ephemeral
