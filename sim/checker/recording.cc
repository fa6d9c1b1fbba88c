// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/recording.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/types/list_at.h"

namespace sim::checker {
namespace {

// 0 if the object has none.
uint64_t VersionOf(const Json& object) {
  std::string text = kube::StringAt(object, "metadata.resourceVersion");
  uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

kube::ObjectKey KeyOf(const Json& object) {
  return {kube::StringAt(object, "metadata.namespace"), kube::StringAt(object, "metadata.name")};
}

bool IsWrite(const std::string& verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete" ||
         verb == "deletecollection";
}

bool HasAt(const Json& object, std::string_view path) {
  return !kube::StringAt(object, path).empty();
}

// The answer to a binding has no version. Nor has a part of the answers to deletions.
bool MayHaveNoName(const Commit& commit) {
  return !commit.after || commit.verb == "list" ||
         HasAt(*commit.after, "metadata.deletionTimestamp") ||
         HasAt(*commit.after, "spec.nodeName");
}

}  // namespace

void Recording::AddWatched(const std::string& group, const std::string& plural,
                           const std::string& type, Json object, Time at) {
  uint64_t version = VersionOf(object);
  if (version == 0) return;
  Commit commit{
      .version = version, .group = group, .plural = plural, .key = KeyOf(object), .at = at};
  if (type == "LISTED") commit.verb = "list";
  if (type == "DELETED") {
    commit.before = Share(std::move(object));  // as it was deleted
  } else {
    commit.after = Share(std::move(object));
  }
  auto [first, last] = watched_.equal_range(version);
  for (auto known = first; known != last; ++known) {
    // A state, and its deletion that only a list has shown, may have one version.
    if (known->second.plural != plural || known->second.key != commit.key ||
        (known->second.after == nullptr) != (commit.after == nullptr))
      continue;
    known->second = std::move(commit);
    return;
  }
  watched_.emplace(version, std::move(commit));
}

void Recording::AddAudit(const Json& event, std::optional<Time> at) {
  std::string verb = kube::StringAt(event, "verb");
  int64_t code = kube::IntAt(event, "responseStatus.code");
  if (kube::StringAt(event, "stage") != "ResponseComplete" || !IsWrite(verb) || code < 200 ||
      code > 299 || kube::StringAt(event, "requestURI").find("dryRun=") != std::string::npos)
    return;
  Written written{.user = kube::StringAt(event, "user.username"),
                  .verb = verb,
                  .subresource = kube::StringAt(event, "objectRef.subresource"),
                  .at = at};
  const Json& stored = kube::ObjectAt(event, "responseObject");
  Id id{kube::StringAt(event, "objectRef.apiGroup"),
        kube::StringAt(event, "objectRef.resource"),
        {kube::StringAt(event, "objectRef.namespace"), kube::StringAt(event, "objectRef.name")}};
  auto add_deleted = [&](const Id& of, const Json& answer) {
    deleted_[of].push_back(written);
    // One that waits for finalizers is written first.
    uint64_t version = HasAt(answer, "metadata.deletionTimestamp") ? VersionOf(answer) : 0;
    if (version != 0) written_.try_emplace({of, version}, written);
  };
  if (verb == "deletecollection") {
    written.verb = "delete";
    for (const Json& item : kube::ListAt(stored, "items")) {
      std::get<kube::ObjectKey>(id) = KeyOf(item);
      add_deleted(id, item);
    }
    return;
  }
  if (verb == "delete") return add_deleted(id, stored);
  // With generateName, only the answer has the name.
  if (verb == "create") {
    // The answer to a subresource, as a binding, may be of another kind.
    if (written.subresource.empty()) std::get<kube::ObjectKey>(id) = KeyOf(stored);
    written.sent = Share(kube::ObjectAt(event, "requestObject"));
  }
  uint64_t version = VersionOf(stored);
  if (version == 0) return;
  // The answer to a write that changes nothing has the version of the write before.
  auto [known, is_new] = written_.try_emplace({std::move(id), version}, written);
  if (!is_new && verb == "create" && written.subresource.empty()) known->second = written;
}

std::vector<Commit> Recording::Commits() const { return Recording(*this).Take(); }

void Recording::Complete(Commit& commit) {
  Id id{commit.group, commit.plural, commit.key};
  auto known = objects_.find(id);
  if (known != objects_.end()) commit.before = known->second;
  if (commit.after) {
    objects_[id] = commit.after;
  } else if (known != objects_.end()) {
    objects_.erase(known);
  }
  if (commit.verb == "list") return;
  commit.verb = !commit.after ? "delete" : !commit.before ? "create" : "update";
  const Written* written = nullptr;
  auto deleted = deleted_.end();
  // Only a deletion marks an object; an update that changes nothing may have its version.
  const bool marks = commit.before && commit.after &&
                     !HasAt(*commit.before, "metadata.deletionTimestamp") &&
                     HasAt(*commit.after, "metadata.deletionTimestamp");
  if (auto found = written_.find({id, commit.version});
      found != written_.end() && (!marks || found->second.verb == "delete")) {
    written = &found->second;
  } else if (deleted = deleted_.find(id); !commit.after && deleted != deleted_.end()) {
    size_t next = std::min(deletions_[id]++, deleted->second.size() - 1);
    written = &deleted->second[next];
  }
  if (written == nullptr) return;
  commit.user = written->user;
  commit.verb = written->verb;
  commit.subresource = written->subresource;
  if (written->at) commit.at = std::min(commit.at, *written->at);
  if (!commit.before) commit.sent = written->sent;
}

std::vector<Commit> Recording::Take() {
  std::vector<Commit> commits;
  commits.reserve(watched_.size());
  for (auto& [version, watched] : watched_) {
    Complete(watched);
    taken_ = std::max(taken_, version);
    commits.push_back(std::move(watched));
  }
  watched_.clear();
  std::erase_if(written_, [&](const auto& one) { return one.first.second <= taken_; });
  // Names that come again are those of workloads; what was deleted once need not be kept for them.
  std::erase_if(deleted_, [&](const auto& one) { return !objects_.contains(one.first); });
  std::erase_if(deletions_, [&](const auto& one) { return !deleted_.contains(one.first); });
  return commits;
}

std::vector<Recording::Undelivered> Recording::AwaitedWrites() const {
  std::vector<Undelivered> awaited;
  for (const auto& [of, written] : written_) {
    if (of.second > taken_ && !watched_.contains(of.second))
      awaited.push_back({of.first, of.second, written.at});
  }
  return awaited;
}

std::vector<const Commit*> Recording::UnnamedCommits(Time since) const {
  std::vector<const Commit*> unnamed;
  for (const auto& [version, commit] : watched_) {
    Id id{commit.group, commit.plural, commit.key};
    if (commit.at >= since && !MayHaveNoName(commit) && !written_.contains({id, version}))
      unnamed.push_back(&commit);
  }
  return unnamed;
}

}  // namespace sim::checker
