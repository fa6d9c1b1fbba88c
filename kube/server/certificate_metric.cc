// SPDX-License-Identifier: Apache-2.0
#include "kube/server/certificate_metric.h"

#include <chrono>

#include "kube/crypto/certificates.h"

namespace kube {

void AddCertificateMetric(Metrics& metrics, std::string name, const HttpsServer& server) {
  metrics.AddComputedGauge(
      std::move(name), "The end of the serving certificate's validity, in seconds since 1970",
      [&server]() -> Metrics::Series {
        Result<WallTime> end = NotAfter(server.certificate_pem());
        if (!end) return {};
        return {{{}, std::chrono::duration<double>(end->time_since_epoch()).count()}};
      });
}

}  // namespace kube
