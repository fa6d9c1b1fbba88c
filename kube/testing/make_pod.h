// SPDX-License-Identifier: Apache-2.0
// MakePod: a builder for pods.
//
//   api.Create<core::Pod>(MakePod("web").Namespace("shop").Gate(kGate).Image("r.io/app:1"));
#pragma once

#include <string>
#include <string_view>

#include "kube/types/core.pb.h"

namespace kube {

class MakePod {
 public:
  // Defaults: namespace "ns", no containers.
  explicit MakePod(std::string_view name);

  MakePod& Namespace(std::string_view ns);
  MakePod& Uid(std::string_view uid);
  MakePod& ResourceVersion(std::string_view version);
  MakePod& Label(std::string_view key, std::string_view value);
  MakePod& Annotation(std::string_view key, std::string_view value);
  MakePod& Finalizer(std::string_view name);
  // The controlling owner.
  MakePod& Owner(std::string_view api_version, std::string_view kind, std::string_view name);
  MakePod& Gate(std::string_view name);
  // Adds a container, named "c0", "c1", ...
  MakePod& Image(std::string_view image, std::string_view pull_policy = "");
  MakePod& InitImage(std::string_view image, std::string_view pull_policy = "");
  MakePod& PullSecret(std::string_view name);
  MakePod& ServiceAccount(std::string_view name);
  MakePod& NodeSelector(std::string_view key, std::string_view value);
  MakePod& Os(std::string_view name);
  MakePod& Node(std::string_view name);
  MakePod& Phase(std::string_view phase);
  // Adds a required node affinity term with one expression; no values for Exists and DoesNotExist.
  MakePod& Requires(std::string_view key, std::string_view op,
                    std::initializer_list<std::string_view> values = {});
  // Adds a preferred term `key In [values]`.
  MakePod& Prefers(int weight, std::string_view key,
                   std::initializer_list<std::string_view> values);

  core::Pod Build() const { return pod_; }
  operator core::Pod() const { return pod_; }  // NOLINT: a builder is what it builds

 private:
  core::Pod pod_;
};

}  // namespace kube
