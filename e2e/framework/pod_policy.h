// SPDX-License-Identifier: Apache-2.0
// A ValidatingAdmissionPolicy for the pods of a scene. It has the name of the scene's namespace: an
// aborted run does not affect the next.
#pragma once

#include <string>

#include "e2e/framework/objects.h"
#include "e2e/framework/scene.h"

namespace e2e {

// Pods of the scene must satisfy `expression`, as `probe` does not. Returns when the policy is in
// force; a failure is one of the test.
void RefusePods(Scene& scene, const std::string& expression, const std::string& message,
                const PodBuilder& probe);
// Removes the policy, if there is one.
void AllowPods(Scene& scene);

}  // namespace e2e
