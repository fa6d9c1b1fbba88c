// SPDX-License-Identifier: Apache-2.0
// What an API server makes of pods beyond other objects: the status of a new one, and which changes
// of one it refuses. Source: PrepareForCreate and ValidatePodUpdate of Kubernetes 1.36.
// Not implemented: validation of values; changes of activeDeadlineSeconds and of
// terminationGracePeriodSeconds are refused.
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/testing/fake_object.h"
#include "kube/types/unstructured.h"

namespace kube {

// A new pod is pending, and says so while it is gated. `keep`: a phase that it has already.
Result<FakeObject> NewPod(const FakeObject& pod, bool keep);

// The problems of an update: gates may be removed and tolerations added, images changed; of a gated
// pod, nodeSelector and required node affinity may be narrowed, and its preferred ones changed.
std::vector<Cause> PodUpdateProblems(const Json& before, const Json& after);

// Errors: kInvalid (422) with PodUpdateProblems() as causes.
Result<void> CheckPodUpdate(const FakeObject& before, const FakeObject& after);

}  // namespace kube
