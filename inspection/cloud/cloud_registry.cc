// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_registry.h"

#include <algorithm>
#include <array>

#include "inspection/config/host_match.h"
#include "kube/base/split.h"

namespace inspection {
namespace {

constexpr std::string_view kAmazonDomain = "amazonaws.com";
constexpr std::string_view kChinasDomain = "amazonaws.com.cn";
constexpr std::array<std::string_view, 4> kContainerRegistry = {"gcr.io", "us.gcr.io", "eu.gcr.io",
                                                                "asia.gcr.io"};
constexpr size_t kMaxLabel = 63;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

// A part of a host name: letters, digits and hyphens.
bool IsLabel(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || c == '-'; });
}

// Removes `suffix`; false if there is none.
bool Cut(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::optional<CloudRegistry> AmazonRegistryOf(std::string_view host) {
  std::string_view rest = host;
  if (!Cut(rest, ".amazonaws.com") && !Cut(rest, ".amazonaws.com.cn")) return std::nullopt;
  constexpr size_t kAccount = 12;
  constexpr std::string_view kService = ".dkr.ecr.";
  if (rest.size() <= kAccount || !std::all_of(rest.begin(), rest.begin() + kAccount, IsDigit))
    return std::nullopt;
  rest.remove_prefix(kAccount);
  if (!rest.starts_with(kService)) return std::nullopt;
  rest.remove_prefix(kService.size());
  std::optional<std::string_view> domain = AmazonDomainOf(rest);
  if (!domain || host.size() < domain->size() || !host.ends_with("." + std::string(*domain)))
    return std::nullopt;
  return CloudRegistry{.cloud = Cloud::kAmazon,
                       .host = std::string(host),
                       .region = std::string(rest),
                       .domain = std::string(*domain)};
}

bool IsGoogleRegistry(std::string_view host) {
  if (std::find(kContainerRegistry.begin(), kContainerRegistry.end(), host) !=
      kContainerRegistry.end())
    return true;
  return Cut(host, "-docker.pkg.dev") && IsLabel(host);
}

bool IsAzureRegistry(std::string_view host) { return Cut(host, ".azurecr.io") && IsLabel(host); }

// Whether all hosts that `pattern` matches belong to a cloud. Hosts are compared in lower case.
bool IsPatternOfCloud(std::string_view pattern) {
  auto is_of_host = [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '-' || c == '.' || c == '*';
  };
  if (!std::all_of(pattern.begin(), pattern.end(), is_of_host)) return false;
  if (pattern == "gcr.io") return true;
  for (std::string_view suffix :
       {".amazonaws.com", ".amazonaws.com.cn", ".gcr.io", ".pkg.dev", ".azurecr.io"}) {
    std::string_view rest = pattern;
    if (Cut(rest, suffix)) return !rest.empty();
  }
  return false;
}

}  // namespace

std::optional<std::string_view> AmazonDomainOf(std::string_view region) {
  // "us-east-1", "us-gov-west-1", "cn-north-1": two letters, words, a digit. Other names in
  // Amazon's domain look similar, such as "s3-us-west-2".
  if (region.size() > kMaxLabel) return std::nullopt;
  std::vector<std::string_view> parts;
  for (std::string_view rest = region;;) {
    size_t hyphen = rest.find('-');
    parts.push_back(rest.substr(0, hyphen));
    if (hyphen == std::string_view::npos) break;
    rest.remove_prefix(hyphen + 1);
  }
  if (parts.size() < 3 || parts.front().size() != 2 || parts.back().size() != 1 ||
      !IsDigit(parts.back().front()))
    return std::nullopt;
  parts.pop_back();
  bool words = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), IsLetter);
  });
  if (!words) return std::nullopt;
  return region.starts_with("cn-") ? kChinasDomain : kAmazonDomain;
}

std::optional<CloudRegistry> CloudRegistryOf(std::string_view host) {
  if (IsGoogleRegistry(host))
    return CloudRegistry{.cloud = Cloud::kGoogle, .host = std::string(host)};
  if (IsAzureRegistry(host))
    return CloudRegistry{.cloud = Cloud::kAzure, .host = std::string(host)};
  return AmazonRegistryOf(host);
}

kube::Result<CloudRegistries> CloudRegistries::Parse(const std::string& text) {
  CloudRegistries registries;
  for (std::string& pattern : kube::SplitAtCommas(text)) {
    if (!IsPatternOfCloud(pattern)) {
      return kube::Error::Invalid(
          pattern.substr(0, 256) +
          " is no pattern of registries of ECR, Artifact Registry or ACR, in "
          "lower case");
    }
    registries.patterns_.push_back(std::move(pattern));
  }
  if (registries.patterns_.size() > kMaxPatterns)
    return kube::Error::Invalid("more than " + std::to_string(kMaxPatterns) + " patterns");
  return registries;
}

bool CloudRegistries::Names(std::string_view host) const {
  return std::find(patterns_.begin(), patterns_.end(), host) != patterns_.end();
}

std::optional<CloudRegistry> CloudRegistries::Find(std::string_view host) const {
  bool allowed = std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
    return HostMatches(pattern, host);
  });
  return allowed ? CloudRegistryOf(host) : std::nullopt;
}

}  // namespace inspection
