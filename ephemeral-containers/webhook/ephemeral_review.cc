// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/ephemeral_review.h"

#include <simdjson.h>

#include <string>
#include <unordered_set>

#include "kube/admission/review_parser.h"
#include "kube/types/object_name.h"

namespace ephemeral {
namespace {

namespace dom = simdjson::dom;
using kube::ArrayAt;
using kube::ObjectAt;
using kube::StringAt;

// As placement::PullSecretsOf().
constexpr size_t kMaxPullSecrets = 32;
// Longer ones are not valid: names of containers are DNS labels.
constexpr size_t kMaxContainerName = 253;

// "" unless it is the name of an object, as it gets into the paths of calls.
std::string NameAt(dom::element parent, std::string_view key) {
  std::string_view name = StringAt(parent, key);
  return kube::IsObjectName(name) ? std::string(name) : std::string();
}

// The names of the ephemeral containers that the pod has already: these never change.
std::unordered_set<std::string_view> NamesIn(dom::element request) {
  std::unordered_set<std::string_view> names;
  dom::element pod;
  dom::element spec;
  dom::array containers;
  if (!ObjectAt(request, "oldObject", pod) || !ObjectAt(pod, "spec", spec) ||
      !ArrayAt(spec, "ephemeralContainers", containers))
    return names;
  for (dom::element container : containers) names.insert(StringAt(container, "name"));
  return names;
}

void ReadContainers(dom::element request, dom::element spec, EphemeralReview& review) {
  dom::array containers;
  if (!ArrayAt(spec, "ephemeralContainers", containers)) return;
  const std::unordered_set<std::string_view> old = NamesIn(request);
  for (dom::element container : containers) {
    std::string_view name = StringAt(container, "name");
    std::string_view image = StringAt(container, "image");
    std::string_view policy = StringAt(container, "imagePullPolicy");
    if (image.empty() || policy == "Never" || old.contains(name)) continue;
    if (review.added.size() == kMaxContainers || image.size() > kMaxImageName ||
        name.size() > kMaxContainerName) {
      ++review.left_out;
      continue;
    }
    kube::core::Container& added = review.added.emplace_back();
    added.set_name(std::string(name));
    added.set_image(std::string(image));
    added.set_image_pull_policy(policy == "Always" ? "Always" : "IfNotPresent");
  }
}

void ReadPullSecrets(dom::element spec, EphemeralReview& review) {
  dom::array secrets;
  if (!ArrayAt(spec, "imagePullSecrets", secrets)) return;
  for (dom::element secret : secrets) {
    if (review.pull_secrets.size() == kMaxPullSecrets) return;
    std::string name = NameAt(secret, "name");
    if (!name.empty()) review.pull_secrets.push_back(std::move(name));
  }
}

bool IsOfEphemeralContainers(dom::element request) {
  dom::element resource;
  return StringAt(request, "operation") == "UPDATE" &&
         StringAt(request, "subResource") == "ephemeralcontainers" &&
         ObjectAt(request, "resource", resource) && StringAt(resource, "group").empty() &&
         StringAt(resource, "resource") == "pods";
}

kube::Result<EphemeralReview> ReadRequest(dom::element request) {
  EphemeralReview review;
  std::string_view uid = StringAt(request, "uid");
  if (uid.size() > kMaxUid) {
    return kube::Error::Invalid("AdmissionReview with a request.uid of more than " +
                                std::to_string(kMaxUid) + " bytes");
  }
  review.uid = std::string(uid);
  if (!IsOfEphemeralContainers(request)) return review;
  review.ns = NameAt(request, "namespace");
  review.pod = NameAt(request, "name");
  dom::element pod;
  dom::element spec;
  if (!ObjectAt(request, "object", pod) || !ObjectAt(pod, "spec", spec)) return review;
  review.node = NameAt(spec, "nodeName");
  ReadContainers(request, spec, review);
  ReadPullSecrets(spec, review);
  return review;
}

}  // namespace

EphemeralReviewReader::EphemeralReviewReader() : parser_(std::make_unique<kube::ReviewParser>()) {}
EphemeralReviewReader::~EphemeralReviewReader() = default;

kube::Result<EphemeralReview> EphemeralReviewReader::Read(std::string_view body) {
  kube::Result<dom::element> request = parser_->Parse(body);
  kube::Result<EphemeralReview> review = request ? ReadRequest(*request) : request.error();
  parser_->Shrink();
  return review;
}

}  // namespace ephemeral
