// SPDX-License-Identifier: Apache-2.0
// Rights: whether this program has the permissions that it needs. A 403 can mean a missing
// permission, which concerns every object, or a policy about one object. So this asks the API
// server only after a call was refused with 403.
//
//   Rights rights(client, clock, {{.verb = "update", .resource = "pods"}});
//   tasks.Spawn("rights", rights.Run());
//   if (FailedWith(written, Code::kPermissionDenied)) rights.OnForbidden();
//   Result<void> held = rights.Check();
//
// Thread: the client's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace kube {

// The resourceAttributes of a SelfSubjectAccessReview.
struct Right {
  std::string verb;
  std::string group = "";
  std::string resource;
  std::string name = "";  // empty: any
  std::string ns = "";    // empty: all namespaces
};

class Rights {
 public:
  // `client` and `clock` outlive this.
  Rights(Client& client, Clock& clock, std::vector<Right> needed);

  // A call was refused with 403: reviews the permissions soon.
  void OnForbidden();
  // Runs until cancelled. Reviews after OnForbidden(), and every 10 s while a permission is
  // missing.
  asio::awaitable<void> Run();

  // kPermissionDenied names the permission that was missing in the last review.
  Result<void> Check() const;

 private:
  // Asks for each permission that is needed. Errors: the API server's.
  Async<> Review();
  Async<bool> Has(Json attributes);

  Client& client_;
  Clock& clock_;
  std::vector<Right> needed_;
  bool review_due_ = false;
  std::optional<std::string> missing_;
  Notifier forbidden_;
};

}  // namespace kube
