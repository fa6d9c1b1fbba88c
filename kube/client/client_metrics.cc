// SPDX-License-Identifier: Apache-2.0
#include "kube/client/client_metrics.h"

#include <string>

namespace kube {

void ClientMetrics::OnCall(std::string_view method, std::string_view host, int status, Duration latency) {
  std::string verb(method);
  std::string server(host);
  // client-go's word for a call without an answer.
  std::string code = status == 0 ? "<error>" : std::to_string(status);
  metrics_
      .AddCounter("rest_client_requests_total", "Requests to the API server",
                  {{"code", code}, {"host", server}, {"method", verb}})
      .Increment();
  metrics_
      .AddHistogram("rest_client_request_duration_seconds", "Time of a request to the API server", DurationBuckets(),
                    {{"host", server}, {"verb", verb}})
      .Observe(std::chrono::duration<double>(latency).count());
}

}  // namespace kube
