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
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete";
}

}  // namespace

void Recording::AddWatched(const std::string& group, const std::string& plural,
                           const std::string& type, Json object, Time at) {
  uint64_t version = VersionOf(object);
  if (version == 0) return;
  Commit& commit = watched_[version];
  commit = {.version = version, .group = group, .plural = plural, .key = KeyOf(object), .at = at};
  if (type == "DELETED") {
    commit.before = Share(std::move(object));  // as it was deleted
  } else {
    commit.after = Share(std::move(object));
  }
}

void Recording::AddAudit(const Json& event) {
  std::string verb = kube::StringAt(event, "verb");
  int64_t code = kube::IntAt(event, "responseStatus.code");
  if (kube::StringAt(event, "stage") != "ResponseComplete" || !IsWrite(verb) || code < 200 ||
      code > 299 || kube::StringAt(event, "requestURI").find("dryRun=") != std::string::npos)
    return;
  Written written{.user = kube::StringAt(event, "user.username"),
                  .verb = verb,
                  .subresource = kube::StringAt(event, "objectRef.subresource")};
  const Json& stored = kube::ObjectAt(event, "responseObject");
  Id id{kube::StringAt(event, "objectRef.apiGroup"),
        kube::StringAt(event, "objectRef.resource"),
        {kube::StringAt(event, "objectRef.namespace"), kube::StringAt(event, "objectRef.name")}};
  // With generateName, only the answer has the name.
  if (verb == "create") {
    std::get<kube::ObjectKey>(id) = KeyOf(stored);
    written.sent = Share(kube::ObjectAt(event, "requestObject"));
  }
  if (verb == "delete") {
    deleted_[id].push_back(written);
    // One that waits for finalizers is written first.
    if (kube::StringAt(stored, "metadata.deletionTimestamp").empty()) return;
  }
  written_[{std::move(id), VersionOf(stored)}] = std::move(written);
}

std::vector<Commit> Recording::Commits() const {
  std::vector<Commit> commits;
  std::map<Id, JsonRef> objects;
  std::map<Id, size_t> deletions;
  for (const auto& [version, watched] : watched_) {
    Commit commit = watched;
    Id id{commit.group, commit.plural, commit.key};
    auto known = objects.find(id);
    if (known != objects.end()) commit.before = known->second;
    if (commit.after) {
      objects[id] = commit.after;
    } else {
      objects.erase(id);
    }
    const Written* written = nullptr;
    if (auto found = written_.find({id, version}); found != written_.end()) {
      written = &found->second;
    } else if (auto of = deleted_.find(id); !commit.after && of != deleted_.end()) {
      size_t next = std::min(deletions[id]++, of->second.size() - 1);
      written = &of->second[next];
    }
    commit.verb = !commit.after ? "delete" : !commit.before ? "create" : "update";
    if (written != nullptr) {
      commit.user = written->user;
      commit.verb = written->verb;
      commit.subresource = written->subresource;
      if (!commit.before) commit.sent = written->sent;
    }
    commits.push_back(std::move(commit));
  }
  return commits;
}

}  // namespace sim::checker
