// SPDX-License-Identifier: Apache-2.0
// OperandStore: the operator's objects in the cluster, from watches, and the one way to write them.
//
// An object is applied (server-side, so other managers' fields stay) when the fields that this
// operator applied to the stored object are not the desired ones (owned_fields.h); otherwise it
// costs no write, also after a restart. No mark on the object could prove that, as the owner of its
// namespace may write all of it. Kinds that are not watched (PodDisruptionBudget) are read every
// hour. The kinds of policies that gate pods are watched from WatchGatingPolicies() on, as not
// every API server knows them. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "operator/objects/desired_object.h"

namespace operator_ {

class OperandStore {
 public:
  // Called with each object of the operator that is added, updated or deleted.
  using Listener = std::function<void(const kube::Unstructured&)>;

  OperandStore(kube::Client& client, kube::Clock& clock);

  // Before Start().
  void OnChange(Listener listener) { listener_ = std::move(listener); }
  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync();
  // After Start(): watches the policies that gate pods and their bindings, and waits until they are
  // known. To be called only if the API server knows these kinds: it would wait for them.
  kube::Async<> WatchGatingPolicies();

  // After Start(): watches the ValidatingWebhookConfiguration of a feature, by its name, as the
  // operator may read no others. Returns: whether it is known. A ClusterRole of before the feature
  // does not allow the watch, and stops nothing else.
  bool WatchValidating(const std::string& name);

  // The object, trimmed (trim.h); nullopt if it does not exist or its kind is not watched.
  std::optional<kube::Unstructured> Get(const kube::Resource& resource,
                                        const kube::ObjectKey& key) const;
  // True if one of `objects` exists; those of kinds that are not watched count as absent.
  bool HasAny(const DesiredObjects& objects) const;
  // The namespaces of the shards that have objects, whether namespaced or cluster-scoped.
  std::vector<std::string> ShardNamespaces() const;

  // Whether Ensure() would write nothing. Errors: the API server's.
  kube::Async<bool> IsAsDesired(const DesiredObject& object);
  // Applies `object` where needed, or removes it if it is not wanted. Errors: the API server's.
  // `log`, here and below: the start of log lines, Request::log.
  kube::Async<> Ensure(DesiredObject object, const std::string& log);
  // An object that does not exist is no error.
  kube::Async<> Remove(kube::Resource resource, kube::ObjectKey key, const std::string& log);
  // The object, of a kind that is not watched, is not as it was applied: the next Ensure() reads
  // it.
  void Forget(const kube::Resource& resource, const kube::ObjectKey& key);
  // Deletes the object if another operator created it (foreign_objects.h). Makes no call for an
  // object that the watch shows: those are the operator's own. Returns: whether it was foreign.
  kube::Async<bool> RemoveForeign(ObjectId object, const std::string& log);

 private:
  using Informer = kube::Informer<kube::Unstructured>;
  // An object that was as desired at a time, where the watch does not show that: its kind is not
  // watched, or the API server rewrote what was applied, so that the hashes differ.
  struct Applied {
    // The kOwnedHash (trim.h) of the desired object.
    std::string hash;
    // The kContentVersion of the stored object.
    std::string version;
    kube::TimePoint at;
  };

  // `name`: of the only object that is watched; "" for all of the operator's.
  void AddInformer(const kube::Resource& resource, const std::string& name = "");
  const Informer* InformerOf(const kube::Resource& resource, const std::string& name) const;
  // True if the stored object is as desired, for which OwnedHashOf() is `hash`.
  kube::Async<bool> IsAsDesired(kube::Resource resource, kube::ObjectKey key, std::string hash);

  kube::Client& client_;
  kube::Clock& clock_;
  Listener listener_;
  // The informers by plural, or "plural/name" where each watches one object.
  std::map<std::string, std::unique_ptr<Informer>, std::less<>> informers_;
  kube::TaskGroup* tasks_ = nullptr;
  bool watches_gating_policies_ = false;
  // By plural and key of the object.
  std::map<std::pair<std::string, kube::ObjectKey>, Applied> applied_;
};

// The namespace of the shard of `object`; "" if it belongs to no shard, as its label may be that of
// another namespace.
std::string ShardNamespaceOf(const kube::Unstructured& object);

}  // namespace operator_
