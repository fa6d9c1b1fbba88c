// SPDX-License-Identifier: Apache-2.0
// NamespaceLabeler: adds one label to each Namespace that lacks its key; an existing value is kept.
#pragma once

#include <string>

#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"

namespace examples {

struct Label {
  std::string key;
  std::string value;
};

class NamespaceLabeler final : public kube::Reconciler {
 public:
  // `client` and `namespaces` outlive the reconciler.
  NamespaceLabeler(kube::Client& client, const kube::Reader<kube::core::Namespace>& namespaces,
                   Label label)
      : client_(client), namespaces_(namespaces), label_(std::move(label)) {}

  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Client& client_;
  const kube::Reader<kube::core::Namespace>& namespaces_;
  Label label_;
};

}  // namespace examples
