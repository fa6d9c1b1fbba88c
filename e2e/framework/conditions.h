// SPDX-License-Identifier: Apache-2.0
// The conditions that flows wait for; see flow.h. Objects are in the scene's namespace.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "e2e/framework/flow.h"
#include "kube/types/resource.h"

namespace e2e {

// --- Pods, as the watch shows them.
// `holds` judges the newest state of the pod; `what` completes "pod NAME ..." in messages.
Condition OfPod(const std::string& pod, const std::string& what,
                std::function<bool(const Json&)> holds);
// The pod exists without both gates.
Condition Ungated(const std::string& pod);
// The pod has the cluster gate.
Condition ClusterGated(const std::string& pod);
Condition Labelled(const std::string& pod, const std::string& key, const std::string& value);
Condition Annotated(const std::string& pod, const std::string& key, const std::string& value);
// Ungated, and every required term names exactly these architectures.
Condition Requires(const std::string& pod, std::vector<std::string> architectures);
// Ungated, and there are exactly these preferences.
Condition Prefers(const std::string& pod, std::map<std::string, int> weights);
// The pod is bound to a node whose architecture is one of these.
Condition ScheduledOn(const std::string& pod, std::vector<std::string> architectures);
// An event with this reason exists whose message contains all `words`.
Condition EventAbout(const std::string& pod, const std::string& reason,
                     const std::vector<std::string>& words = {});
// At least `count` pods have been seen, and every pod is ungated.
Condition AllUngated(size_t count);

// --- Objects
Condition Exists(const kube::Resource& resource, const std::string& name);
Condition Absent(const kube::Resource& resource, const std::string& name);
// The object has the condition `type` with `status`, and `text` in its reason or message.
Condition HasStatusCondition(const kube::Resource& resource, const std::string& name,
                             const std::string& type, const std::string& status,
                             const std::string& text = "");
// All its replicas are updated and ready.
Condition RolledOut(const std::string& deployment);
// The shard of the scene's namespace is ready: its Deployments, all webhook entries of the configs
// and their rules or, where policies gate the pods, no webhook; and pods of each config are gated.
Condition ShardReady();
// No object of the shard is left in the scene's namespace, nor its webhook configuration.
Condition ShardRemoved();
// No namespace has a config, which includes the namespaces of earlier flows.
Condition NoConfigAnywhere();
// The operands of the ClusterPodPlacementConfig are ready, pods of the scene are gated, and nothing
// is left of another `gating`.
Condition ClusterConfigReady();

}  // namespace e2e
