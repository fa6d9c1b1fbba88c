// SPDX-License-Identifier: Apache-2.0
// The mode of //cluster-controller that warns about ephemeral containers, with
// --ephemeral-container-warnings. It takes no Lease, reconciles nothing and writes nothing.
#pragma once

#include "cluster-controller/image_access.h"
#include "kube/base/async.h"
#include "kube/program/program.h"

namespace ephemeral {

// Whether the flag chooses this mode.
bool WarningsWanted();

// Serves until the program is asked to stop. `images`: how images are inspected. Errors: those of
// Program::Connect() and webhook::NewServer().
kube::Async<> ServeWarnings(kube::Program& program, cluster_controller::ImageAccessOptions images);

}  // namespace ephemeral
