// SPDX-License-Identifier: Apache-2.0
// Rights: whether the shard has the permissions that it needs. A 403 can mean a missing permission,
// which concerns every pod, or a policy about one pod. So this asks the API server only after a
// call was refused with 403.
//
//   Rights rights(client, clock, ns);
//   tasks.Spawn("rights", rights.Run());
//   if (FailedWith(written, Code::kPermissionDenied)) rights.OnForbidden();
//   Result<void> held = rights.Check();
//
// Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace shard {

class Rights {
 public:
  // `client` and `clock` outlive this.
  Rights(kube::Client& client, kube::Clock& clock, std::string ns);

  // A call was refused with 403: reviews the permissions soon.
  void OnForbidden();
  // Runs until cancelled. Reviews after OnForbidden(), and every 10 s while a permission is
  // missing.
  boost::asio::awaitable<void> Run();

  // kPermissionDenied names the permission that was missing in the last review.
  kube::Result<void> Check() const;

 private:
  // Asks for each permission that the shard needs. Errors: the API server's.
  kube::Async<> Review();
  kube::Async<bool> Has(kube::Json attributes);

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  bool review_due_ = false;
  std::optional<std::string> missing_;
  kube::Notifier forbidden_;
};

}  // namespace shard
