// SPDX-License-Identifier: Apache-2.0
// What an API server does for namespaces: objects exist in namespaces that exist, and a namespace
// is deleted in two steps. The second one is the namespace controller's, which is not part of a
// FakeStore: it removes the objects, and then the entry of spec.finalizers.
// Source: the admission plugin NamespaceLifecycle and the registry of namespaces, Kubernetes 1.36.
#pragma once

#include <optional>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/testing/fake_call.h"
#include "kube/testing/fake_object.h"
#include "kube/testing/fake_write.h"

namespace kube {

// `ns`: the namespace of the write's object, if it exists.
// Errors: kNotFound; kPermissionDenied with the cause NamespaceTerminating for a creation in a
// namespace that is being deleted. Deletions are always allowed.
Result<void> CheckNamespaceOf(const FakeCall& call, const FakeWrite& write,
                              const std::optional<FakeObject>& ns);

// A new namespace is active, has the finalizer of the namespace controller and the label of its
// name.
Result<FakeObject> NewNamespace(const FakeObject& ns);
// Only /finalize changes spec.finalizers.
Result<FakeObject> WithFinalizersOf(const FakeObject& ns, const FakeObject& before);
// What the first DELETE makes of it.
Result<FakeObject> TerminatingNamespace(const FakeObject& ns, WallTime now);
// Whether the namespace controller has finished.
bool IsFinalized(const FakeObject& ns);

}  // namespace kube
