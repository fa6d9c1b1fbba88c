// SPDX-License-Identifier: Apache-2.0
// DryRunProbe: shows what the admission of the API server does, by the creation of a Deployment
// with dryRun=All in the operator's namespace; nothing is stored.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/objects/options.h"

namespace operator_ {

struct DryRunProbe {
  // The name of the Deployment.
  std::string name;
  // Selects the Deployment.
  std::string_view label;
  std::string label_value;
  // The annotation that admission is to add.
  std::string_view annotation;
};

// Returns: the value of the annotation; "" if there is none. Errors: the API server's, or those of
// other admission webhooks and policies.
kube::Async<std::string> AnnotationOf(kube::Client& client, DryRunProbe probe,
                                      const OperandOptions& options);

}  // namespace operator_
