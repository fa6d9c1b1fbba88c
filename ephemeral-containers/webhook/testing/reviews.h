// SPDX-License-Identifier: Apache-2.0
// AdmissionReviews of pods/ephemeralcontainers, as the API server sends them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/types/unstructured.h"

namespace ephemeral {

inline constexpr char kReviewUid[] = "review-1";

inline kube::Json EphemeralContainer(const std::string& name, const std::string& image,
                                     const std::string& policy = "IfNotPresent") {
  return {{"name", name}, {"image", image}, {"imagePullPolicy", policy}};
}

// A review of pod shop/web on `node`, which has `old` and gets `added` too.
inline kube::Json ReviewOf(std::vector<kube::Json> added, std::vector<kube::Json> old = {},
                           const std::string& node = "worker-3", const std::string& ns = "shop") {
  kube::Json pod = {{"kind", "Pod"},
                    {"apiVersion", "v1"},
                    {"metadata", {{"name", "web"}, {"namespace", ns}}},
                    {"spec", {{"containers", kube::Json::array({{{"name", "app"}}})}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  kube::Json request = {{"uid", kReviewUid},
                        {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                        {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                        {"subResource", "ephemeralcontainers"},
                        {"operation", "UPDATE"},
                        {"name", "web"},
                        {"namespace", ns}};
  request["oldObject"] = pod;
  if (!old.empty()) request["oldObject"]["spec"]["ephemeralContainers"] = old;
  old.insert(old.end(), added.begin(), added.end());
  pod["spec"]["ephemeralContainers"] = std::move(old);
  request["object"] = std::move(pod);
  return {{"kind", "AdmissionReview"},
          {"apiVersion", "admission.k8s.io/v1"},
          {"request", std::move(request)}};
}

}  // namespace ephemeral
