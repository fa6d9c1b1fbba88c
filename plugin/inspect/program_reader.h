// SPDX-License-Identifier: Apache-2.0
// ReadPrograms(): reads from the layers of each image which program its containers execute. It
// costs megabytes, so it is only done if somebody asks for it.
#pragma once

#include <vector>

#include "inspection/registry/registry_client.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "plugin/inspect/image_details.h"

namespace plugin {

// Sets ImageVariant::program of the variants for linux; a failure is VariantProgram::error. Each
// has the limits of exec-format/entrypoint/image_files.h, and a minute. Thread: the client's.
// Errors: kCancelled.
kube::Async<> ReadPrograms(inspection::RegistryClient& client,
                           const inspection::Repository& repository, kube::Clock& clock,
                           std::vector<ImageVariant>& variants);

}  // namespace plugin
