// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/delete_configs.h"

#include <iostream>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/client/typed.h"

namespace operator_ {

using kube::Async;
using kube::Client;
using kube::Clock;
using kube::Error;
using kube::Ok;
using kube::Resource;
using kube::TimePoint;
using kube::Unstructured;
using namespace std::chrono_literals;

namespace {

constexpr auto kPollEvery = 500ms;
constexpr Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
constexpr Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

}  // namespace

Async<> DeleteConfigs(Client& client, Clock& clock, TimePoint deadline) {
  kube::ListOptions everywhere;
  auto configs = co_await kube::ListObjects(client, kConfigs, std::move(everywhere));
  if (IsNotFound(configs)) co_return Ok();  // the CRDs are deleted already
  if (!configs) co_return configs.error();
  for (const Unstructured& config : configs->items) {
    auto deleted = co_await kube::DeleteObject(client, kConfigs, kube::KeyOf(config));
    if (!deleted && !IsNotFound(deleted)) co_return deleted.error();
    std::cout << "deleted PodPlacementConfig " << kube::KeyOf(config).ToString() << std::endl;
  }
  kube::ObjectKey cluster{"", std::string(api::kClusterConfigName)};
  auto deleted = co_await kube::DeleteObject(client, kClusterConfigs, cluster);
  if (IsNotFound(deleted)) co_return Ok();
  if (!deleted) co_return deleted.error();
  std::cout << "waiting until every pod is ungated and the operands are deleted" << std::endl;
  while (true) {
    auto current = co_await kube::GetObject(client, kClusterConfigs, cluster);
    if (IsNotFound(current)) co_return Ok();
    if (clock.Now() >= deadline)
      co_return Error::DeadlineExceeded("ClusterPodPlacementConfig: not deleted");
    auto slept = co_await clock.Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

}  // namespace operator_
