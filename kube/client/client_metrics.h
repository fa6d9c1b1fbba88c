// SPDX-License-Identifier: Apache-2.0
// ClientMetrics: the calls of a client, under client-go's names: rest_client_requests_total and
// rest_client_request_duration_seconds.
//
//   ClientMetrics observer(metrics);
//   NewClient(executor, clock, config, {.name = "shard", .observer = &observer});
#pragma once

#include <string>
#include <vector>

#include "kube/client/new_client.h"
#include "kube/metrics/metrics.h"

namespace kube {

class ClientMetrics final : public CallObserver {
 public:
  // `metrics` outlives this object. The series appear with the first call of their kind: host and
  // code are not known before.
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
  // A handful: looking a series up by its labels costs more than to count.
  std::vector<Series> series_;
};

}  // namespace kube
