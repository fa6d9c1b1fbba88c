// SPDX-License-Identifier: Apache-2.0
// Whether a release kept what the user wrote (I5). Written from the documents, without placement/:
// the two must agree.
#pragma once

#include "kube/types/core.pb.h"

namespace fuzz {

// True if `after` differs from `before` only in what a release may do: gates, labels and
// annotations of the operator; one requirement (architecture, operating system, build of Windows)
// at the end of each required node selector term that does not constrain the architecture, or in a
// new term if there is none; and preferences behind those of the user, who has none on the
// architecture. Tolerations are the caller's to compare.
bool KeepsUserSettings(kube::core::Pod before, kube::core::Pod after);

}  // namespace fuzz
