// SPDX-License-Identifier: Apache-2.0
#include "kube/client/client_metrics.h"

#include <string>

namespace kube {

void ClientMetrics::OnCall(std::string_view method, std::string_view host, int status,
                           Duration latency) {
  const Series& series = SeriesOf(method, host, status);
  series.calls->Increment();
  series.latency->Observe(std::chrono::duration<double>(latency).count());
}

const ClientMetrics::Series& ClientMetrics::SeriesOf(std::string_view method, std::string_view host,
                                                     int status) {
  for (const Series& series : series_) {
    if (series.status == status && series.method == method && series.host == host) return series;
  }
  Series series{std::string(method), std::string(host), status, nullptr, nullptr};
  // client-go's code for a call without a response.
  std::string code = status == 0 ? "<error>" : std::to_string(status);
  series.calls =
      &metrics_.AddCounter("rest_client_requests_total", "Requests to the API server",
                           {{"code", code}, {"host", series.host}, {"method", series.method}});
  series.latency = &metrics_.AddHistogram("rest_client_request_duration_seconds",
                                          "Time of a request to the API server", DurationBuckets(),
                                          {{"host", series.host}, {"verb", series.method}});
  return series_.emplace_back(std::move(series));
}

}  // namespace kube
