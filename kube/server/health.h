// SPDX-License-Identifier: Apache-2.0
// HealthRegistry: the named checks behind /readyz; while one fails, the process gets no requests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace kube {

class HealthRegistry {
 public:
  // Must be quick and without side effects; the Error is shown in the report.
  using Check = std::function<Result<void>()>;

  void AddReadiness(std::string name, Check check) {
    readiness_.push_back({std::move(name), std::move(check)});
  }

  // One line per check ("[+]cache ok", "[-]cache failed: not synced"), in the API server's format;
  // healthy if there are no checks.
  struct Report {
    bool healthy = true;
    std::string text;
  };
  Report Readiness() const;

 private:
  struct Named {
    std::string name;
    Check check;
  };

  std::vector<Named> readiness_;
};

}  // namespace kube
