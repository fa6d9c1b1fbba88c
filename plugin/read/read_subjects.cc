// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_subjects.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "plugin/read/kinds.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Json;

// Objects are read one by one: each may have megabytes as JSON.
constexpr int kPage = 100;
// Of all subjects. Users choose how many there are.
constexpr size_t kMaxBytes = 16 * 1024 * 1024;

bool HasController(const Json& object) {
  const Json& owners = kube::ListAt(object, "metadata.ownerReferences");
  return std::any_of(owners.begin(), owners.end(),
                     [](const Json& owner) { return kube::BoolAt(owner, "controller"); });
}

// Of an item of a list, which has no kind; nullopt if another object has created it.
std::optional<Subject> SubjectIn(const std::string& item, const kube::Resource& kind) {
  kube::Result<Json> object = kube::ParseJson(item);
  if (!object || !object->is_object() || HasController(*object)) return std::nullopt;
  (*object)["kind"] = std::string(kind.kind);
  return SubjectOf(*object, "");
}

}  // namespace

Async<std::vector<Subject>> ReadSubjects(kube::Client& client, std::string ns,
                                         std::vector<Unread>& unread) {
  co_await kube::IgnoreCancellation();
  constexpr kube::Resource kRead[] = {kube::kDeployments, kStatefulSets, kube::kDaemonSets,
                                      kCronJobs,          kJobs,         kube::kReplicaSets,
                                      kube::kPods};
  std::vector<Subject> subjects;
  size_t bytes = 0;
  for (const kube::Resource& kind : kRead) {
    kube::ListOptions options{.ns = ns, .limit = kPage};
    kube::ListPages pages(client, kind, std::move(options), /*protobuf=*/false);
    while (pages.more()) {
      auto page = co_await pages.Next();
      if (kube::FailedWith(page, kube::Code::kCancelled)) co_return page.error();
      if (!page) {
        unread.push_back({std::string(kind.plural), page.error().message()});
        break;
      }
      for (const std::string& item : page->items) {
        std::optional<Subject> subject = SubjectIn(item, kind);
        if (!subject) continue;
        bytes += subject->pod.ByteSizeLong();
        if (bytes > kMaxBytes) {
          unread.push_back(
              {"more workloads",
               "these have " + std::to_string(kMaxBytes / (1024 * 1024)) + " MiB already"});
          co_return subjects;
        }
        subjects.push_back(std::move(*subject));
      }
    }
  }
  co_return subjects;
}

}  // namespace plugin
