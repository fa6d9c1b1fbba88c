// SPDX-License-Identifier: Apache-2.0
// Install and Uninstall: the objects of a set of manifests on a cluster. Both print a line for each
// step and can be repeated.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace deploy {

// The field manager of all objects that the deploy tools apply.
inline constexpr std::string_view kFieldManager = "pod-placement-deploy";

struct InstallOptions {
  // Timeout until all Deployments are rolled out.
  std::chrono::seconds timeout{180};
  // CustomResourceDefinitions that another tool has installed stay as they are.
  bool keep_foreign_crds = false;
  // False: returns once all is applied.
  bool wait = true;
};

// Server-side applies `objects` in order and waits until the CRDs are established and every
// Deployment is rolled out. Cluster-scoped objects except CRDs are owned by the first Namespace
// among the objects, and deleted with it. Errors: the API server's; kDeadlineExceeded with the
// object that was not ready and the reason that the cluster reports.
kube::Async<> Install(kube::Client& client, kube::Clock& clock,
                      std::vector<kube::Unstructured> objects, InstallOptions options);

// Deletes `objects` in reverse order and waits until they are gone. Errors: the API server's;
// kDeadlineExceeded with the object that is still there at `deadline`.
kube::Async<> Uninstall(kube::Client& client, kube::Clock& clock,
                        std::vector<kube::Unstructured> objects, kube::TimePoint deadline);

// Polls until an object that was deleted is gone. Errors: kDeadlineExceeded, "not deleted".
kube::Async<> AwaitDeletion(kube::Client& client, kube::Clock& clock, kube::Resource resource,
                            kube::ObjectKey key, kube::TimePoint deadline);

}  // namespace deploy
