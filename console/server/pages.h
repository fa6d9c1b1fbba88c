// SPDX-License-Identifier: Apache-2.0
// The requests of browsers: the files of the pages, which everybody may read, and the answers at
// /api/, for who has logged in. Clients are untrusted. Thread: the client's.
#pragma once

#include <memory>
#include <string>

#include "console/access/answer_slots.h"
#include "console/access/login.h"
#include "console/answers/question.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/slots.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"

namespace console {

struct PagesOptions {
  std::string operator_namespace;
  // As in Login.
  std::string secret;
  AnswerSlotsOptions slots;
};

class Pages {
 public:
  // The references outlive it.
  Pages(kube::Client& client, kube::Executor executor, kube::Clock& clock, kube::Metrics& metrics,
        PagesOptions options);

  // This outlives `server`.
  void AddTo(kube::HttpsServer& server);

 private:
  struct Route;
  static const Route kRoutes[];

  kube::Async<kube::HttpReply> Answer(const Route& route, kube::HttpCall call);
  // The answer as JSON. `slot`: for which its memory counts.
  kube::Async<std::string> Ask(const Route& route, Caller caller, kube::HttpCall call,
                               kube::Slots::Lease& slot);

  kube::Client& client_;
  kube::Executor executor_;
  kube::Clock& clock_;
  std::string operator_namespace_;
  Login login_;
  AnswerSlots slots_;
  kube::Counter& answered_;
  kube::Counter& refused_;
  kube::Histogram& seconds_;
};

// What the server must be told of requests: the headers that Pages reads, and bounds.
kube::HttpsServerOptions ServerOptions(std::string address);

}  // namespace console
