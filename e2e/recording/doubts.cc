// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/doubts.h"

#include <algorithm>

#include "api/names.h"
#include "sim/checker/pod_fields.h"

namespace e2e {

using namespace std::chrono_literals;
using sim::checker::Commit;

namespace {

// The longest that a rule looks back from a commit, or from the creation of its pod
// (sim/checker/facts.h).
constexpr sim::checker::Time kLookBack = 180s;

const kube::Json& SpecOf(const kube::Json& object) {
  static const kube::Json kNone = kube::Json::object();
  auto found = object.find("spec");
  return found == object.end() ? kNone : *found;
}

// Whether the writer does not matter: a binding, a deletion, or a change of the status alone.
bool NeedsNoWriter(const Commit& commit) {
  if (!commit.after) return true;
  if (!commit.before) return false;
  for (const char* path : {"metadata.deletionTimestamp", "spec.nodeName"}) {
    if (kube::StringAt(*commit.before, path) != kube::StringAt(*commit.after, path)) return true;
  }
  return SpecOf(*commit.before) == SpecOf(*commit.after) &&
         sim::checker::LabelsOf(*commit.before) == sim::checker::LabelsOf(*commit.after) &&
         sim::checker::AnnotationsOf(*commit.before) == sim::checker::AnnotationsOf(*commit.after);
}

}  // namespace

void Doubts::Add(const std::vector<Gap>& gaps) {
  for (const Gap& gap : gaps) gaps_[{gap.group, gap.plural}].push_back(gap);
}

const Gap* Doubts::GapDuring(const Kind& kind, Time from, Time to) const {
  auto found = gaps_.find(kind);
  if (found == gaps_.end()) return nullptr;
  for (const Gap& gap : found->second) {
    if (gap.from <= to && gap.to >= from) return &gap;
  }
  return nullptr;
}

const Gap* Doubts::ContextGapDuring(Time from, Time to) const {
  const std::string group(api::kGroup);
  for (const Kind& kind : {Kind{"", "namespaces"}, Kind{group, "podplacementconfigs"},
                           Kind{group, "clusterpodplacementconfigs"},
                           Kind{"coordination.k8s.io", "leases"}, Kind{"apps", "deployments"}}) {
    if (const Gap* gap = GapDuring(kind, from, to)) return gap;
  }
  return nullptr;
}

Doubt Doubts::Of(const Commit& commit) {
  Id id{commit.group, commit.plural, commit.key};
  const Kind kind{commit.group, commit.plural};
  auto [entry, is_new] = lives_.try_emplace(id);
  Life& life = entry->second;
  if (is_new || !commit.before) life = {.first = commit.at, .latest = commit.at};

  Doubt doubt;
  if (commit.verb == "list") {
    life.unknown = "it existed before the recording";
    doubt = {"it existed before the recording", true};
  } else if (commit.user.empty() && !NeedsNoWriter(commit)) {
    if (life.unknown.empty()) life.unknown = "the audit log does not name a writer of it";
    doubt = {"the audit log does not name a writer of it", true};
  } else if (const Gap* gap = GapDuring(kind, life.latest, commit.at);
             gap != nullptr && commit.before) {
    doubt = {"a gap: " + gap->why, true};
    life.unknown = doubt.reason;
  } else if (!life.unknown.empty()) {
    doubt = {life.unknown, false};
  } else if (const Gap* around = ContextGapDuring(life.first - kLookBack, commit.at)) {
    doubt = {"a gap of " + around->plural + ": " + around->why, false};
  }
  life.latest = std::max(life.latest, commit.at);
  if (!commit.after) lives_.erase(entry);
  return doubt;
}

}  // namespace e2e
