// SPDX-License-Identifier: Apache-2.0
// ClientMetrics: the metrics of a client with client-go's names: rest_client_requests_total and
// rest_client_request_duration_seconds.
//
//   ClientMetrics observer(metrics);
//   NewClient(executor, clock, config, {.observer = &observer});
#pragma once

#include <string>
#include <vector>

#include "kube/client/new_client.h"
#include "kube/metrics/metrics.h"

namespace kube {

class ClientMetrics final : public CallObserver {
 public:
  // `metrics` outlives this object. A series appears with its first call: host and code are not
  // known before.
  explicit ClientMetrics(Metrics& metrics) : metrics_(metrics) {}

  // CallObserver
  void OnCall(std::string_view method, std::string_view host, int status,
              Duration latency) override;

 private:
  struct Series {
    std::string method;
    std::string host;
    int status;
    Counter* calls;
    Histogram* latency;
  };
  const Series& SeriesOf(std::string_view method, std::string_view host, int status);

  Metrics& metrics_;
  // Few entries: a linear search is cheaper than a lookup by labels.
  std::vector<Series> series_;
};

}  // namespace kube
