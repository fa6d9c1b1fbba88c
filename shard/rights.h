// SPDX-License-Identifier: Apache-2.0
// Rights: whether the shard may do what it is there for. Asked of the API server only in doubt,
// that is when a call was refused with 403: that can mean a lost right, which concerns every pod,
// or a policy about one pod.
//
//   Rights rights(client, clock, ns);
//   tasks.Spawn("rights", rights.Run());
//   if (FailedWith(written, Code::kPermissionDenied)) rights.Doubt();
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

  // A call was refused with 403.
  void Doubt();
  // Asks when in doubt, and every 10 s while a right is missing; until cancelled.
  boost::asio::awaitable<void> Run();

  // kPermissionDenied names what is missing, as far as known.
  kube::Result<void> Check() const;

 private:
  // Asks for each right that is needed. Errors: the API server's.
  kube::Async<> Review();
  kube::Async<bool> Has(kube::Json attributes);

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  bool in_doubt_ = false;
  std::optional<std::string> missing_;
  kube::Notifier doubted_;
};

}  // namespace shard
