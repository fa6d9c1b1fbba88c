// SPDX-License-Identifier: Apache-2.0
// Reads what the pods of a namespace have in common, with the user's rights. What the user may not
// read is named in NamespaceEvidence::unread. Thread: the client's.
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// What the cluster knows of images: the ImageFacts and ImageFindings in the operator's namespace.
// Nothing if there are none. Errors: those of reading them.
kube::Async<KnownImages> ReadKnownImages(kube::Client& client, std::string operator_namespace);

// `operator_namespace` has the facts about images. Errors: kCancelled.
kube::Async<std::shared_ptr<NamespaceEvidence>> ReadNamespace(kube::Client& client, std::string ns,
                                                              std::string operator_namespace);

}  // namespace plugin
