// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/feed.h"

#include <string_view>

#include "kube/types/kinds.h"

namespace sim {
namespace {

using kube::Json;

// What the API server adds to an object before admission.
constexpr const char* kOfServer[] = {"uid", "creationTimestamp", "resourceVersion", "generation",
                                     "managedFields"};

bool IsOfCertificates(const std::string& key) {
  return key == "caBundle" || key.ends_with("hash") || key.ends_with("Hash");
}

// Removes what differs between two runs of one seed.
void Mask(Json& value) {
  if (value.is_object()) {
    for (auto member = value.begin(); member != value.end();) {
      if (IsOfCertificates(member.key())) {
        member = value.erase(member);
      } else {
        Mask(*member);
        ++member;
      }
    }
  } else if (value.is_array()) {
    for (Json& item : value) Mask(item);
  }
}

std::string TextOf(const kube::StoreCommit& commit, checker::Time at) {
  std::string text = std::to_string(at.count()) + " " + commit.verb + " " + commit.collection +
                     " " + commit.key.ToString() + " " + commit.subresource + " " +
                     commit.caller.user + " ";
  if (!commit.after) return text;
  Json after = *commit.after;
  if (commit.collection == kube::kSecrets.Path()) after.erase("data");
  Mask(after);
  return text + kube::DumpJson(after);
}

}  // namespace

void Feed::Asked(const kube::AdmissionAttributes& asked) {
  if (asked.collection != kube::kPods.Path() || asked.operation != "CREATE" || asked.dry_run)
    return;
  std::string uid = kube::StringAt(*asked.object, "metadata.uid");
  Json sent = *asked.object;
  for (const char* key : kOfServer) sent["metadata"].erase(key);
  sent.erase("status");
  sent_[std::move(uid)] = std::make_shared<const Json>(std::move(sent));
}

void Feed::Add(const kube::StoreCommit& stored, checker::Time at) {
  checker::Commit commit{.version = stored.version,
                         .key = stored.key,
                         .before = stored.before,
                         .after = stored.after,
                         .user = stored.caller.user,
                         .verb = stored.verb,
                         .subresource = stored.subresource,
                         .at = at};
  commit.SetCollection(stored.collection);
  if (!stored.before && stored.collection == kube::kPods.Path()) {
    if (auto sent = sent_.extract(kube::StringAt(*stored.after, "metadata.uid")))
      commit.sent = std::move(sent.mapped());
  }
  if (stored.collection == kube::kDeployments.Path()) {
    if (stored.after) {
      deployments_[stored.key] = stored.after;
    } else {
      deployments_.erase(stored.key);
    }
  }
  for (const char byte : TextOf(stored, at)) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 1099511628211U;
  }
  checker_.Add(commit);
}

}  // namespace sim
