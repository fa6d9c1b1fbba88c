// SPDX-License-Identifier: Apache-2.0
#include "examples/namespace_labeler/namespace_labeler.h"

#include <optional>

#include "kube/client/typed.h"

namespace examples {

using kube::Outcome;
using kube::Result;
using kube::core::Namespace;

kube::Async<Outcome> NamespaceLabeler::Reconcile(kube::Request request) {
  std::optional<Namespace> ns = namespaces_.Get(request.key);
  if (!ns || ns->metadata().has_deletion_timestamp()) co_return Outcome::Done();
  auto& labels = *ns->mutable_metadata()->mutable_labels();
  if (labels.contains(label_.key)) co_return Outcome::Done();

  // A PUT with the resourceVersion that was read: a conflict is retried on the newer object.
  labels[label_.key] = label_.value;
  Result<void> written = co_await kube::Replace(client_, *ns);
  if (kube::IsNotFound(written)) co_return Outcome::Done();
  if (!written) co_return written.error().Prefix("add the label " + label_.key);
  co_return Outcome::Done();
}

}  // namespace examples
