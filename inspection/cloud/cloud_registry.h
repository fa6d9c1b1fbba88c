// SPDX-License-Identifier: Apache-2.0
// CloudRegistry: which registries are those of a cloud, by the names that only the cloud can serve.
//
//   Result<CloudRegistries> registries = CloudRegistries::Parse("team.azurecr.io,*.gcr.io");
//   std::optional<CloudRegistry> registry = registries->Find("team.azurecr.io");
//
// A registry of ECR is named by an account of twelve digits, and a region.
//
// Pods name registries, so the names are parsed strictly: an endpoint that a credential of this
// process is sent to is made of the parts found here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

enum class Cloud { kAmazon, kGoogle, kAzure };

struct CloudRegistry {
  Cloud cloud = Cloud::kAmazon;
  std::string host;
  // Of Amazon: "eu-central-1", and "amazonaws.com" or "amazonaws.com.cn".
  std::string region;
  std::string domain;
};

// The registry at `host`, with HTTPS at its default port; nullopt for any other host:
//   ACCOUNT.dkr.ecr.REGION.amazonaws.com[.cn]
//   LOCATION-docker.pkg.dev, gcr.io, us.gcr.io, eu.gcr.io, asia.gcr.io
//   NAME.azurecr.io
std::optional<CloudRegistry> CloudRegistryOf(std::string_view host);

// The name of Amazon's domain for services of `region`; nullopt if that is no region.
std::optional<std::string_view> AmazonDomainOf(std::string_view region);

// The registries of clouds that an administrator allows, as patterns of hosts.
class CloudRegistries {
 public:
  static constexpr size_t kMaxPatterns = 64;

  // Patterns, comma separated; '*' matches within one part of a host. kInvalid for a pattern of
  // hosts that are no registries of a cloud.
  static kube::Result<CloudRegistries> Parse(const std::string& text);

  bool empty() const { return patterns_.empty(); }
  std::optional<CloudRegistry> Find(std::string_view host) const;
  // Whether a pattern without '*' is this host.
  bool Names(std::string_view host) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace inspection
