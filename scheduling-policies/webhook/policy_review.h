// SPDX-License-Identifier: Apache-2.0
// PolicyReview: the parts of an AdmissionReview that policies need: the fields that identify a
// target, the labels of the pod, and the fields of the pod spec that are merged.
//
// simdjson parses the review, and only these fields are copied: most of an object, such as its
// containers and managed fields, costs next to nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/target.h"

namespace kube {
class ReviewParser;
}

namespace policy {

// The limit for the fields of a pod spec that are merged, and for labels, as compact JSON. Usual
// pods have less than 2 KiB; merging 256 KiB takes some ten milliseconds.
inline constexpr size_t kMaxSchedulingBytes = 256 * 1024;

// What a request says beside its objects.
struct ReviewHeader {
  std::string uid;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string operation;
  std::string ns;
  std::string user;  // who makes the request

  // Without objects. Valid as long as the header.
  Request ToRequest() const;
};

struct PolicyReview : ReviewHeader {
  std::string name;  // "" for a CREATE with generateName
  // Labels or merged fields of the object are larger than kMaxSchedulingBytes, and left out.
  bool too_large = false;
  // Reduced as described above; null if the request has none, or if the resource has no pod spec.
  kube::Json object;
  kube::Json old_object;

  // Valid as long as the review.
  Request ToRequest() const;
};

class PolicyReviewReader {
 public:
  // `whole_templates`: an UPDATE has the whole pod templates, to compare them, unless an object is
  // larger than kMaxSchedulingBytes. Then it has no old object, and the template counts as changed.
  explicit PolicyReviewReader(bool whole_templates = false);
  ~PolicyReviewReader();

  // kInvalid unless `body` is an AdmissionReview of admission.k8s.io/v1 with a request, and nothing
  // in it is nested deeper than 200 levels. The memory that parsing a large one needs is free again
  // afterwards.
  kube::Result<PolicyReview> Read(std::string_view body);
  // The same without the objects, which take many times the memory of their text: for requests that
  // wait.
  kube::Result<ReviewHeader> ReadHeader(std::string_view body);

 private:
  // A request and its header.
  struct Parsed;
  kube::Result<Parsed> Parse(std::string_view body);
  PolicyReview ReadObjects(Parsed parsed) const;

  const bool whole_templates_;
  std::unique_ptr<kube::ReviewParser> parser_;
};

}  // namespace policy
