// SPDX-License-Identifier: Apache-2.0
// MakePod: pods in one line.
//
//   api.Create<core::Pod>(MakePod("web").Namespace("shop").Gate(api::kLocalGate).Image("r/app:1"));
#pragma once

#include <string>
#include <string_view>

#include "kube/types/core.pb.h"

namespace kube {

class MakePod {
 public:
  // Namespace "ns" and no containers, unless said otherwise.
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
  // One more container, named "c0", "c1", ...
  MakePod& Image(std::string_view image, std::string_view pull_policy = "");
  MakePod& InitImage(std::string_view image, std::string_view pull_policy = "");
  MakePod& PullSecret(std::string_view name);
  MakePod& ServiceAccount(std::string_view name);
  MakePod& NodeSelector(std::string_view key, std::string_view value);
  MakePod& Os(std::string_view name);
  MakePod& Node(std::string_view name);
  MakePod& Phase(std::string_view phase);
  // One more required node affinity term of one expression; without values for Exists and the like.
  MakePod& Requires(std::string_view key, std::string_view op,
                    std::initializer_list<std::string_view> values = {});
  // One more preferred term of the form `key In [values]`.
  MakePod& Prefers(int weight, std::string_view key,
                   std::initializer_list<std::string_view> values);

  core::Pod Build() const { return pod_; }
  operator core::Pod() const { return pod_; }  // NOLINT: a builder is what it builds

 private:
  core::Pod pod_;
};

}  // namespace kube
