// SPDX-License-Identifier: Apache-2.0
// The end of validity of a server's certificate, as a metric.
#pragma once

#include <string>

#include "kube/metrics/metrics.h"
#include "kube/server/https_server.h"

namespace kube {

// Adds the gauge `name`: until when the certificate that `server` serves is valid, in seconds since
// 1970. `server` must outlive the last Render().
void AddCertificateMetric(Metrics& metrics, std::string name, const HttpsServer& server);

}  // namespace kube
