// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/finalizers.h"

#include <algorithm>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "kube/client/typed.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Result;
using kube::meta::ObjectMeta;

constexpr std::string_view kFinalizers[] = {api::kPodPlacementFinalizer,
                                            api::kNoPodPlacementConfigFinalizer};

// That for ENoExecEvents too, whoever has added it.
bool IsRemovedHere(const std::string& finalizer) {
  return finalizer == api::kENoExecEventsFinalizer ||
         std::find(std::begin(kFinalizers), std::end(kFinalizers), finalizer) !=
             std::end(kFinalizers);
}

Async<> Write(kube::Client& client, ObjectMeta config, std::vector<std::string> finalizers) {
  std::vector<std::string> before(config.finalizers().begin(), config.finalizers().end());
  if (before == finalizers) co_return Ok();
  kube::Json patch;
  patch["metadata"]["resourceVersion"] = config.resource_version();
  patch["metadata"]["finalizers"] = std::move(finalizers);
  kube::ObjectKey key{"", config.name()};
  Result<kube::Unstructured> written =
      co_await kube::PatchObject(client, kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
                                 std::move(key), kube::kMergePatch, std::move(patch));
  if (!written && !IsNotFound(written)) co_return written.error().Prefix("write finalizers");
  co_return Ok();
}

}  // namespace

Async<> AddFinalizers(kube::Client& client, ObjectMeta config, bool monitors) {
  std::vector<std::string> finalizers(config.finalizers().begin(), config.finalizers().end());
  std::vector<std::string_view> wanted(std::begin(kFinalizers), std::end(kFinalizers));
  if (monitors) wanted.push_back(api::kENoExecEventsFinalizer);
  for (std::string_view finalizer : wanted) {
    if (std::find(finalizers.begin(), finalizers.end(), finalizer) == finalizers.end())
      finalizers.emplace_back(finalizer);
  }
  return Write(client, std::move(config), std::move(finalizers));
}

Async<> RemoveFinalizers(kube::Client& client, ObjectMeta config) {
  std::vector<std::string> finalizers(config.finalizers().begin(), config.finalizers().end());
  std::erase_if(finalizers, IsRemovedHere);
  return Write(client, std::move(config), std::move(finalizers));
}

std::string ForeignFinalizers(const ObjectMeta& config) {
  std::string names;
  for (const std::string& name : config.finalizers()) {
    if (!IsRemovedHere(name)) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace operator_
