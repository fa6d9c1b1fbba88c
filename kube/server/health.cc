// SPDX-License-Identifier: Apache-2.0
#include "kube/server/health.h"

namespace kube {

HealthRegistry::Report HealthRegistry::Readiness() const {
  Report report;
  for (const Named& named : readiness_) {
    Result<void> result = named.check();
    report.healthy &= result.has_value();
    report.text += result ? "[+]" + named.name + " ok\n"
                          : "[-]" + named.name + " failed: " + result.error().message() + "\n";
  }
  report.text += report.healthy ? "ok\n" : "failed\n";
  return report;
}

}  // namespace kube
