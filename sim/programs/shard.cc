// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/shard.h"

#include <memory>
#include <utility>

#include "api/names.h"
#include "kube/base/task_group.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/types/meta.pb.h"
#include "shard/lease.h"
#include "shard/namespace_controller.h"

namespace sim {

kube::Async<> RunShard(Life& life, ShardOptions options) {
  co_await kube::IgnoreCancellation();
  kube::App& app = life.app();
  kube::Metrics& metrics = life.metrics();
  kube::TaskGroup work(app.executor());
  shard::NamespaceController controller(life.client(), life.clock(), metrics, options.ns);
  controller.Start(app.tasks(), work);

  kube::LeaseOptions lease = shard::LeaseOf(options.ns);
  lease.identity = options.pod_name;
  lease.owner.emplace();
  lease.owner->set_api_version("v1");
  lease.owner->set_kind("Namespace");
  lease.owner->set_name(options.operator_namespace);
  lease.owner->set_uid(options.operator_namespace_uid);
  lease.busy = [&controller] { return controller.Busy(); };
  lease.able = [&controller] { return controller.Able(); };
  kube::Leadership leadership(app, life.client(), std::move(lease));
  kube::Leadership::NewTerm new_term = [&controller](kube::TaskGroup&, kube::Client&) {
    return controller.NewTerm();
  };
  co_await leadership.Run(std::move(new_term));
  kube::Result<> ended = co_await app.EndTasks(work);
  kube::IgnoreError(ended, "all tasks have ended in any case");
  ended = co_await app.EndTasks(app.tasks());
  kube::IgnoreError(ended, "all tasks have ended in any case");
  co_return kube::Ok();
}

}  // namespace sim
