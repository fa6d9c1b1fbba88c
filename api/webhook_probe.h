// SPDX-License-Identifier: Apache-2.0
// WebhookProbe: the names by which the operator finds out whether the calls of the API server reach
// a webhook (operator/probes/). Each webhook configuration has an entry with kWebhookProbePath, for
// objects of the operator's namespace with kWebhookProbeLabel. The webhook copies the label's value
// into the annotation, and what it has to report into another one.
#pragma once

#include <string_view>

namespace api {

inline constexpr std::string_view kWebhookProbePath = "/probe";
inline constexpr std::string_view kWebhookProbeLabel = "multiarch.openshift.io/webhook-probe";
inline constexpr std::string_view kWebhookProbeAnnotation = kWebhookProbeLabel;
// Text of the webhook's mode; none if it has nothing to report.
inline constexpr std::string_view kWebhookReportAnnotation =
    "multiarch.openshift.io/webhook-report";
// The label's value for the cluster's webhook. For that of a shard, it is the namespace, which has
// no capital letter.
inline constexpr std::string_view kClusterWebhookProbe = "Cluster";

}  // namespace api
