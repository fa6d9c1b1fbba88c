// SPDX-License-Identifier: Apache-2.0
// The conditions that flows wait for; see flow.h. Names are of objects in the scene's namespace.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "e2e/framework/flow.h"
#include "kube/types/resource.h"

namespace e2e {

// --- Pods, as the watch shows them.
// `holds` says of the newest state whether it is so; `missing` is what to say when it is not.
Condition OfPod(const std::string& pod, const std::string& what,
                std::function<bool(const Json&)> holds);
Condition LocalGateGone(const std::string& pod);
// Both gates gone.
Condition Ungated(const std::string& pod);
// The cluster gate is there.
Condition ClusterGated(const std::string& pod);
Condition Labelled(const std::string& pod, const std::string& key, const std::string& value);
Condition Annotated(const std::string& pod, const std::string& key, const std::string& value);
// Ungated, and every required term names exactly these architectures.
Condition Requires(const std::string& pod, std::vector<std::string> architectures);
// Ungated, and there are exactly these preferences.
Condition Prefers(const std::string& pod, std::map<std::string, int> weights);
// Bound to a node whose architecture is one of these.
Condition LandsOn(const std::string& pod, std::vector<std::string> architectures);
// Every one of `words` is in its message.
Condition EventAbout(const std::string& pod, const std::string& reason,
                     const std::vector<std::string>& words = {});
// At least `count` pods have been seen, and each is out of its gates.
Condition AllUngated(size_t count);

// --- Objects
Condition Exists(const kube::Resource& resource, const std::string& name);
Condition Gone(const kube::Resource& resource, const std::string& name);
// Has the condition `type` with `status`, and `text` in its reason or message.
Condition Says(const kube::Resource& resource, const std::string& name, const std::string& type,
               const std::string& status, const std::string& text = "");
// All its replicas are there in their newest form.
Condition RolledOut(const std::string& deployment);
// The shard of the scene's namespace is at work: its two Deployments, one webhook entry for each of
// its configs, and the API server asks them.
Condition ShardReady();
// Nothing of a shard is left in the scene's namespace or, for it, in the cluster.
Condition ShardGone();
// No namespace has a config: those of earlier flows are gone, too.
Condition NoConfigAnywhere();
// The operands of the cluster's own config are at work, and the API server asks them about pods of
// the scene.
Condition ClusterConfigReady();

}  // namespace e2e
