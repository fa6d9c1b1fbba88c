// SPDX-License-Identifier: Apache-2.0
// OperandStore: the objects that the operator has made, as the cluster has them, and the one way to
// make them.
//
// An object is applied (server-side, so that fields of others stay) once a term, as nothing on the
// object itself says reliably that it is right: its namespace's owner may write all of it. After
// that it is applied when something else is wanted, or when it was changed by somebody since; an
// object that is right costs no call. Kinds that are not watched (PodDisruptionBudget,
// PrometheusRule, ...) are applied anew every hour. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
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
  // Called with every object of ours that appears, changes or goes.
  using Listener = std::function<void(const kube::Unstructured&)>;

  OperandStore(kube::Client& client, kube::Clock& clock);

  // Before Start().
  void OnChange(Listener listener) { listener_ = std::move(listener); }
  // Watches begin; `tasks` must be stopped before the store goes.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync();

  // The object, trimmed (see objects/trim.h); nullopt if it is not there or its kind is not
  // watched.
  std::optional<kube::Unstructured> Get(const kube::Resource& resource,
                                        const kube::ObjectKey& key) const;
  // The namespaces that objects of ours are in or, where cluster-scoped, are for.
  std::vector<std::string> ShardNamespaces() const;

  // Errors: the API server's.
  kube::Async<> Ensure(DesiredObject object);
  // An object that does not exist is no error.
  kube::Async<> Remove(kube::Resource resource, kube::ObjectKey key);
  // Deletes the object if another operator created it (foreign_objects.h). Makes no call for an
  // object that the watch shows: those are the operator's own. Returns: whether it was foreign.
  kube::Async<bool> RemoveForeign(ObjectId object);

 private:
  using Informer = kube::Informer<kube::Unstructured>;
  struct Applied {
    // Of what was applied.
    std::string hash;
    // The object's kContentVersion (objects/trim.h) as the API server answered.
    std::string version;
    kube::TimePoint at;
  };

  const Informer* InformerOf(const kube::Resource& resource) const;

  kube::Client& client_;
  kube::Clock& clock_;
  Listener listener_;
  // By plural.
  std::map<std::string, std::unique_ptr<Informer>, std::less<>> informers_;
  // By plural and key.
  std::map<std::pair<std::string, kube::ObjectKey>, Applied> applied_;
};

// The namespace of the shard that `object` belongs to; "" if it is not a shard's.
std::string ShardNamespaceOf(const kube::Unstructured& object);

}  // namespace operator_
