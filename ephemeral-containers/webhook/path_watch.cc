// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/path_watch.h"

#include <glog/logging.h>

#include <utility>

#include "ephemeral-containers/names.h"
#include "kube/crypto/secret_token.h"

namespace ephemeral {
namespace {

using kube::core::Secret;

// The Role allows to watch this Secret only.
kube::InformerOptions<Secret> OfTheWebhook(std::string ns) {
  kube::InformerOptions<Secret> options;
  options.ns = std::move(ns);
  options.field_selector = "metadata.name=" + std::string(kWebhookName);
  return options;
}

}  // namespace

PathWatch::PathWatch(kube::Client& client, kube::Clock& clock, std::string ns)
    : secret_(client, clock, OfTheWebhook(std::move(ns))) {
  secret_.OnEvent([this](kube::EventType type, const Secret& secret) {
    if (type != kube::EventType::kDeleted) Use(secret);
  });
}

void PathWatch::Use(const Secret& secret) {
  auto token = secret.data().find(std::string(kPathKey));
  if (token == secret.data().end() || !kube::IsSecretToken(token->second)) return;
  std::string path = PathOf(token->second);
  if (path == path_) return;
  LOG(INFO) << (known() ? "the path has changed" : "the path is known");
  path_ = std::move(path);
}

bool PathWatch::Admits(std::string_view path) const {
  return known() && kube::SameSecret(path, path_);
}

}  // namespace ephemeral
