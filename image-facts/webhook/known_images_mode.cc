// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/known_images_mode.h"

#include <gflags/gflags.h>

#include <memory>
#include <string>
#include <utility>

#include "image-facts/known_images_report.h"
#include "image-facts/webhook/known_images.h"
#include "image-facts/webhook/known_images_metrics.h"
#include "kube/base/random.h"
#include "webhook/gate_mode.h"
#include "webhook/gate_webhook.h"

DEFINE_bool(
    known_images, false,
    "With --gate=cluster: places pods whose images are known, instead of gating them, where "
    "the ClusterPodPlacementConfig says so.");

namespace image_facts {
namespace {

class KnownImagesMode final : public webhook::Mode {
 public:
  KnownImagesMode(webhook::GateWebhookOptions options, const webhook::ModeContext& context)
      : metrics_(context.metrics),
        known_(*context.client, context.clock, options.operator_namespace, metrics_),
        webhook_(WithPlacer(std::move(options), known_), context.metrics, context.clock) {}

  // Mode
  void AddTo(kube::HttpsServer& server) override { webhook_.AddTo(server); }
  void Start(kube::TaskGroup& tasks) override { known_.Start(tasks); }
  std::string Report() const override {
    KnownImagesReport report = metrics_.Report();
    report.replica = replica_;
    return ToText(report);
  }

 private:
  static webhook::GateWebhookOptions WithPlacer(webhook::GateWebhookOptions options,
                                                webhook::PodPlacer& placer) {
    options.placer = &placer;
    return options;
  }

  // The replica of a report: each process has its own.
  const std::string replica_ = std::to_string(kube::RandomSeed());
  KnownImagesMetrics metrics_;
  KnownImages known_;
  webhook::GateWebhook webhook_;
};

}  // namespace

kube::Result<std::optional<webhook::ChosenMode>> ChooseKnownImagesMode(
    const std::string& operator_namespace) {
  if (!FLAGS_known_images) return std::optional<webhook::ChosenMode>();
  kube::Result<webhook::GateWebhookOptions> options =
      webhook::GateOptionsFromFlags(operator_namespace);
  if (!options) return options.error();
  if (!options->shard_namespace.empty())
    return kube::Error::Invalid("--known-images is for --gate=cluster");
  return std::optional(
      webhook::ChosenMode{.what = "places pods whose images are known, and gates the others",
                          .needs_client = true,
                          .open = [options](const webhook::ModeContext& context) {
                            return std::make_unique<KnownImagesMode>(*options, context);
                          }});
}

}  // namespace image_facts
