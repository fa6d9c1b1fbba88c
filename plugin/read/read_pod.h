// SPDX-License-Identifier: Apache-2.0
// Reads what a cluster says about pods, with the user's rights. What the user may not read is named
// in NamespaceEvidence::unread. Thread: the client's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "plugin/config/why_config.h"
#include "plugin/pod/evidence.h"

namespace plugin {

// What the cluster knows of images: the ImageFacts in the operator's namespace. Nothing if there
// are none. Errors: those of reading them.
kube::Async<KnownImages> ReadKnownImages(kube::Client& client, std::string operator_namespace);

// `operator_namespace` has the facts about images. Errors: kCancelled.
kube::Async<std::shared_ptr<NamespaceEvidence>> ReadNamespace(kube::Client& client, std::string ns,
                                                              std::string operator_namespace);

// Of the objects with these uids, the oldest event first. Errors: those of the client.
kube::Async<std::vector<kube::core::Event>> ReadEvents(kube::Client& client, std::string ns,
                                                       std::string uid);

// Errors: those of reading the pod itself.
kube::Async<PodEvidence> ReadPod(
    kube::Client& client, kube::Clock& clock, kube::ObjectKey key,
    std::string operator_namespace = std::string(api::kDefaultOperatorNamespace));

// Of the PodPlacementConfig and all pods of its namespace. Errors: those of reading pods;
// kNotFound.
kube::Async<ConfigEvidence> ReadConfig(kube::Client& client, kube::ObjectKey key,
                                       std::string operator_namespace);

}  // namespace plugin
