// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_subjects.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/read/kinds.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Json;

// Pods are read in pages: each may have some kilobytes as JSON.
constexpr int kPage = 100;

bool HasController(const kube::meta::ObjectMeta& metadata) {
  return std::any_of(metadata.owner_references().begin(), metadata.owner_references().end(),
                     [](const auto& owner) { return owner.controller(); });
}

}  // namespace

Async<std::vector<Subject>> ReadSubjects(kube::Client& client, std::string ns,
                                         std::vector<Unread>& unread) {
  co_await kube::IgnoreCancellation();
  constexpr kube::Resource kRead[] = {kube::kDeployments, kStatefulSets, kube::kDaemonSets,
                                      kCronJobs,          kJobs,         kube::kReplicaSets,
                                      kube::kPods};
  std::vector<Subject> subjects;
  for (const kube::Resource& kind : kRead) {
    kube::ListOptions options{.ns = ns, .limit = kPage};
    auto objects = co_await kube::ListObjects(client, kind, std::move(options));
    if (kube::FailedWith(objects, kube::Code::kCancelled)) co_return objects.error();
    if (!objects) {
      unread.push_back({std::string(kind.plural), objects.error().message()});
      continue;
    }
    for (const kube::Unstructured& object : objects->items) {
      if (HasController(object.metadata())) continue;
      Json body = object.body();
      // Items of a list have no kind.
      body["kind"] = std::string(kind.kind);
      if (std::optional<Subject> subject = SubjectOf(body, ""))
        subjects.push_back(std::move(*subject));
    }
  }
  co_return subjects;
}

}  // namespace plugin
