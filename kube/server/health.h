// SPDX-License-Identifier: Apache-2.0
// HealthRegistry: the named checks behind /healthz (fail: restart me) and /readyz (fail: send me no
// requests).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace kube {

class HealthRegistry {
 public:
  // Quick and without side effects; an Error says what is wrong.
  using Check = std::function<Result<void>()>;

  void AddLiveness(std::string name, Check check) {
    liveness_.push_back({std::move(name), std::move(check)});
  }
  void AddReadiness(std::string name, Check check) {
    readiness_.push_back({std::move(name), std::move(check)});
  }

  // One line a check ("[+]cache ok", "[-]cache failed: not synced"), as the API server's own;
  // healthy without any checks.
  struct Report {
    bool healthy = true;
    std::string text;
  };
  Report Liveness() const { return Run(liveness_); }
  Report Readiness() const { return Run(readiness_); }

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static Report Run(const std::vector<Named>& checks);

  std::vector<Named> liveness_;
  std::vector<Named> readiness_;
};

}  // namespace kube
