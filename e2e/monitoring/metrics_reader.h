// SPDX-License-Identifier: Apache-2.0
// MetricsReader: a ServiceAccount that may read the metrics of the operator and of the cluster's
// operands, until this is destroyed.
#pragma once

#include <memory>
#include <string>

#include "e2e/framework/scene.h"

namespace e2e {

// A token of a new ServiceAccount in the scene's namespace.
kube::Result<std::string> NewToken(Scene& scene, const std::string& account);

class MetricsReader {
 public:
  // `scene` outlives this.
  static kube::Result<std::unique_ptr<MetricsReader>> Make(Scene& scene);
  ~MetricsReader();

  const std::string& token() const { return token_; }

 private:
  MetricsReader(Scene& scene, std::string token) : scene_(scene), token_(std::move(token)) {}
  // The name of the ClusterRoleBinding.
  std::string BindingName() const { return "metrics-reader-" + scene_.ns(); }

  Scene& scene_;
  std::string token_;
};

}  // namespace e2e
