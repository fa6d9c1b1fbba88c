// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/cluster_publisher.h"

#include <utility>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/scores/scores.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;

constexpr size_t kMaxVersion = 128;
constexpr std::chrono::seconds kUntilKnown{5};

// metav1.MicroTime, which has a fraction.
std::string FormatMicroTime(kube::WallTime time) {
  std::string text = kube::FormatTime(time);
  text.insert(text.size() - 1, ".000000");
  return text;
}

}  // namespace

Async<kube::Duration> LeasePublisher::Publish() {
  ObjectKey key{"", cluster_};
  std::optional<Unstructured> cluster = clusters_.Get(key);
  bool known = clusters_.synced();
  std::chrono::seconds every = LeaseDurationOf(cluster ? cluster->body() : Json::object());

  key = {cluster_, std::string(kClusterLease)};
  Json spec = {{"leaseDurationSeconds", every.count()},
               {"renewTime", FormatMicroTime(clock_.WallNow())}};
  Json patch;
  patch["spec"] = spec;
  Result<Unstructured> written =
      co_await kube::PatchObject(hub_, kube::kLeases, key, kube::kMergePatch, std::move(patch));
  if (IsNotFound(written)) {
    Json lease;
    lease["apiVersion"] = kube::kLeases.ApiVersion();
    lease["kind"] = std::string(kube::kLeases.kind);
    lease["metadata"] = {{"name", key.name}, {"namespace", key.ns}};
    lease["spec"] = std::move(spec);
    Unstructured created(std::move(lease));
    written = co_await kube::CreateObject(hub_, kube::kLeases, std::move(created));
  }
  if (!written) co_return written.error().Prefix("renew the Lease");
  // Until the ManagedCluster was read, it may ask for more.
  if (!known) every = kUntilKnown;
  co_return every;
}

Async<> StatusPublisher::Probe() {
  kube::ApiRequest request{.target = "/version", .timeout = std::chrono::seconds(10)};
  Result<kube::ApiResponse> response = co_await member_.Call(std::move(request));
  probed_at_ = clock_.Now();
  // An API server that denies the call is available.
  bool answers = response || response.error().code() == kube::Code::kPermissionDenied ||
                 response.error().code() == kube::Code::kUnauthenticated ||
                 response.error().code() == kube::Code::kNotFound;
  if (!answers) {
    // Without the message, which may differ at each attempt.
    unavailable_ = std::string(kube::CodeName(response.error().code()));
    co_return kube::Ok();
  }
  unavailable_.reset();
  if (!response) co_return kube::Ok();
  if (Result<Json> json = kube::ParseJson(response->body))
    version_ = kube::OneLine(kube::StringAt(*json, "gitVersion")).substr(0, kMaxVersion);
  co_return kube::Ok();
}

Async<kube::Duration> StatusPublisher::Publish() {
  // Facts that the watches do not know now stay unchanged.
  bool due = !probed_at_ || unavailable_ || clock_.Now() >= *probed_at_ + kProbeEvery;
  if (due) {
    Result<> probed = co_await Probe();
    if (!probed) co_return probed.error();
  }
  ClusterFacts facts{.unavailable = unavailable_, .version = version_};
  if (usage_.nodes_current()) {
    facts.capacity = usage_.totals().Capacity();
    facts.allocatable = usage_.totals().Allocatable();
    facts.claims = ClaimsOf(usage_.sums());
  }

  // The hub.
  ObjectKey key{"", cluster_};
  std::optional<Unstructured> cluster = clusters_.Get(key);
  if (!cluster && !clusters_.synced()) co_return kUntilComplete;
  if (!cluster) co_return kube::Error::NotFound("the hub has no ManagedCluster " + cluster_);
  std::optional<Json> patch = ClusterStatusPatch(cluster->body(), facts, clock_.WallNow());
  const kube::Duration next = usage_.nodes_current() ? kEvery : kUntilComplete;
  if (!patch) co_return next;
  std::string subresource = "status";
  Result<Unstructured> written = co_await kube::PatchObject(
      hub_, kManagedClusters, key, kube::kMergePatch, std::move(*patch), std::move(subresource));
  if (!written) co_return written.error().Prefix("write the status of the ManagedCluster");
  co_return next;
}

}  // namespace fleet
