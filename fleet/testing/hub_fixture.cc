// SPDX-License-Identifier: Apache-2.0
#include "fleet/testing/hub_fixture.h"

#include <chrono>

#include "fleet/api/reading.h"
#include "fleet/testing/condition_text.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace fleet {

using kube::Json;

void HubFixture::TearDown() {
  kube::IgnoreError(kube::Run(io_, tasks_.Stop(clock_, std::chrono::seconds(0))), "the test ends");
}

void HubFixture::Pass(kube::Duration time) {
  clock_.Advance(time);
  kube::Drain(io_);
}

std::string HubFixture::Condition(const kube::Resource& resource, const kube::ObjectKey& key,
                                  std::string_view type) {
  return ConditionText(api_.GetJson(resource, key).value(), type);
}

std::vector<std::string> HubFixture::Works(const kube::Resource& kind) {
  std::vector<std::string> clusters;
  for (const Json& work : api_.ListJson(kind))
    clusters.push_back(kube::StringAt(work, "metadata.namespace") + (IsDeleting(work) ? "-" : ""));
  return clusters;
}

}  // namespace fleet
