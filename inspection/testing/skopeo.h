// SPDX-License-Identifier: Apache-2.0
// Skopeo: runs Debian's skopeo with the configuration of a home folder:
// .config/containers/{registries.conf,registries.conf.d,certs.d,policy.json}.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "placement/architecture.h"

namespace inspection {

inline constexpr char kSkopeoProgram[] = "/usr/bin/skopeo";

class Skopeo {
 public:
  // `auth_file` may be empty.
  Skopeo(std::string home, std::string auth_file)
      : home_(std::move(home)), auth_file_(std::move(auth_file)) {}

  // The architectures for linux in the output of `inspect --raw` (and `--config` for a single
  // image), without special treatment of bundles. `name` has a registry, and a tag or a digest.
  // Errors: skopeo's, all kUnavailable.
  kube::Async<placement::ArchitectureSet> Architectures(std::string name) const;
  // Whether `copy` accepts the image; unlike `inspect`, `copy` checks policy.json. `scratch`: the
  // folder to copy to.
  kube::Async<> Copy(std::string name, std::string scratch) const;

 private:
  kube::Async<std::string> Run(std::vector<std::string> arguments) const;

  std::string home_;
  std::string auth_file_;
};

}  // namespace inspection
