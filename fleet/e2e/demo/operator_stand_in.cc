// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/operator_stand_in.h"

#include <glog/logging.h>

#include <utility>

#include "api/conditions.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"
#include "kube/codec/content_type.h"

namespace e2e {

using kube::Json;
using kube::Result;

void OperatorStandIn::OnObject(const kube::Resource& resource, const Json& object) {
  bool config = resource.plural == kConfigs.plural || resource.plural == kClusterConfigs.plural;
  if (!config || object.is_null()) return;
  if (!seen_.insert(kube::StringAt(object, "metadata.uid")).second) return;
  kube::ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                      kube::StringAt(object, "metadata.name")};
  tasks_.Spawn("operator-stand-in", Report(resource, std::move(key)));
}

boost::asio::awaitable<void> OperatorStandIn::Report(kube::Resource resource, kube::ObjectKey key) {
  co_await kube::IgnoreCancellation();
  Result<> slept = co_await kube::RealClock().Sleep(kTakes);
  if (!slept) co_return;
  Json available = {{"type", std::string(api::kAvailable)},
                    {"status", "True"},
                    {"reason", "Demo"},
                    {"message", "Reported by the demo: this cluster runs no pods"},
                    {"lastTransitionTime", kube::FormatTime(kube::RealClock().WallNow())}};
  Json patch;
  patch["status"]["conditions"] = Json::array({std::move(available)});
  std::string subresource = "status";
  auto patched = co_await kube::PatchObject(client_, resource, key, kube::kMergePatch,
                                            std::move(patch), std::move(subresource));
  LOG_IF(WARNING, !patched) << "report " << key.ToString() << ": " << patched.error();
}

}  // namespace e2e
