// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/announcement_rules.h"

#include <algorithm>
#include <chrono>

#include "api/names.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

// A new leader watches configurations by then, and it is not told of earlier deletions.
constexpr Time kNewTerm = std::chrono::seconds(60);

}  // namespace

void AnnouncementRules::Add(const Commit& commit, Violations& violations) {
  Judge(commit, violations);
  if (IsOf(commit, "coordination.k8s.io", "leases") && commit.key.name == api::kAnnouncementsName) {
    AddLease(commit);
  } else if (IsOf(commit, api::kGroup, "podplacementconfigs") && commit.before && !commit.after) {
    OfNamespace& announced = announced_[commit.key.ns];
    auto found = announced.find(kube::StringAt(*commit.before, "metadata.uid"));
    if (found != announced.end()) found->second.deleted = commit.at;
  }
}

void AnnouncementRules::AddLease(const Commit& commit) {
  OfNamespace& known = announced_[commit.key.ns];
  OfNamespace now;
  static const Json kNone = Json::object();
  const Json& before = commit.before ? AnnotationsOf(*commit.before) : kNone;
  const Json& after = commit.after ? AnnotationsOf(*commit.after) : kNone;
  for (const auto& [key, value] : after.items()) {
    if (!key.starts_with(api::kAnnouncementAnnotationPrefix)) continue;
    const std::string uid = key.substr(api::kAnnouncementAnnotationPrefix.size());
    Announcement announcement{.written = commit.at};
    if (auto found = known.find(uid); found != known.end()) {
      const bool same = before.contains(key) && before.at(key) == value;
      announcement = {.written = same ? found->second.written : commit.at,
                      .deleted = found->second.deleted};
    }
    now.emplace(uid, announcement);
  }
  known = std::move(now);
}

void AnnouncementRules::Judge(const Commit& commit, Violations& violations) {
  for (auto& [ns, announced] : announced_) {
    for (auto& [uid, announcement] : announced) {
      if (announcement.deleted == Time::max()) continue;
      const Time due = std::max(announcement.deleted, announcement.written);
      if (commit.at - due <= facts_.timing.withdrawal) continue;
      announcement.deleted = Time::max();  // it is judged once
      if (facts_.calm_since > due - kNewTerm) continue;
      violations.push_back({"announcements",
                            "leases " + ns + "/" + std::string(api::kAnnouncementsName),
                            "still announces the deleted configuration " + uid, 0, commit.at});
    }
  }
}

}  // namespace sim::checker
