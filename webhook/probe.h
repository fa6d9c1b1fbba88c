// SPDX-License-Identifier: Apache-2.0
// The answer to the operator's probe (api/webhook_probe.h): it shows that a call of the API server
// arrives. Every mode of the program has it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/server/http_message.h"
#include "kube/server/https_server.h"

namespace webhook {

// The largest review of a probe; that of the operator's has about 4 KiB.
inline constexpr size_t kMaxProbeReview = 64 << 10;

// 200 with an AdmissionReview, which changes nothing but the annotations of a labelled object in a
// dry run in `operator_namespace`; 400 if the body is not one, 413 if it is too large.
// `report`: for the second annotation; "" for none.
kube::HttpReply AnswerProbe(const kube::HttpCall& call, std::string_view operator_namespace,
                            const std::string& report = "");

// Adds the path of probes to `server`. `report` is called for each.
void AddProbe(kube::HttpsServer& server, std::string operator_namespace,
              std::function<std::string()> report);

}  // namespace webhook
