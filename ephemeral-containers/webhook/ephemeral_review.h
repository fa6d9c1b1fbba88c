// SPDX-License-Identifier: Apache-2.0
// EphemeralReview: what the warnings need of an AdmissionReview of pods/ephemeralcontainers: the
// containers that the request adds, the pod's node and its pull secrets. simdjson parses the
// review, and only these fields are copied, at most a few KiB.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/core.pb.h"

namespace kube {
class ReviewParser;
}

namespace ephemeral {

// New ephemeral containers that are examined; `kubectl debug` adds one.
inline constexpr size_t kMaxContainers = 8;
// Longer names are not valid references (inspection/base/reference.h), and are not examined.
inline constexpr size_t kMaxImageName = 1024;

// Those of API servers have 36 bytes. The answer repeats it.
inline constexpr size_t kMaxUid = 64;

struct EphemeralReview {
  std::string uid;
  // Of the pod; "" if the request has none that is a valid name.
  std::string ns;
  std::string pod;
  std::string node;
  // The containers that the request adds with an image of a registry, as containers of a pod with
  // their images and pull policies alone. Without those that are only on nodes (pull policy Never).
  std::vector<kube::core::Container> added;
  // The names of the pod's pull secrets: at most those that PullSecrets uses.
  std::vector<std::string> pull_secrets;
  // Further new containers: beyond kMaxContainers, or with a longer image name.
  size_t left_out = 0;
};

class EphemeralReviewReader {
 public:
  EphemeralReviewReader();
  ~EphemeralReviewReader();

  // kInvalid unless `body` is an AdmissionReview of admission.k8s.io/v1 with a request, whose uid
  // has at most kMaxUid bytes, and nothing in it is nested deeper than 200 levels. A review of
  // something else adds no containers.
  // The memory that a large one needs is free again afterwards.
  kube::Result<EphemeralReview> Read(std::string_view body);

 private:
  std::unique_ptr<kube::ReviewParser> parser_;
};

}  // namespace ephemeral
