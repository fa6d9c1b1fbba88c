// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/fingerprint.h"

#include <string_view>

#include "inspection/base/digest.h"

namespace inspection {
namespace {

// Values with their lengths, so that two different lists never have the same text.
class Text {
 public:
  void Add(std::string_view value) {
    text_ += std::to_string(value.size());
    text_ += ':';
    text_ += value;
  }
  void Add(bool value) { Add(std::string_view(value ? "1" : "0")); }
  void Add(const std::string& value) { Add(std::string_view(value)); }
  template <class Item>
  void Add(const std::vector<Item>& items) {
    Add(std::to_string(items.size()));
    for (const Item& item : items) Add(item);
  }
  void Add(const MirrorRule& rule) {
    Add(rule.source);
    Add(rule.mirrors);
    Add(rule.for_digests);
    Add(rule.never_source);
  }
  void Add(const HostCertificates& certificates) {
    Add(std::to_string(certificates.size()));
    for (const auto& [host, tls] : certificates) {
      Add(host);
      Add(tls.ca_pem);
      Add(tls.cert_pem);
      Add(tls.key_pem);
      Add(tls.problem);
    }
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string Fingerprint(const InspectorConfig& config) {
  Text text;
  text.Add(config.registries_conf);
  text.Add(config.registries_conf_drop_ins);
  text.Add(config.ca_bundle_pem);
  text.Add(config.policy_json);
  text.Add(config.certificates);
  text.Add(config.containerd_hosts.ToText());
  text.Add(config.containerd_hosts.certificates());
  text.Add(config.cluster_rules.mirrors);
  text.Add(config.cluster_rules.insecure);
  text.Add(config.cluster_rules.blocked);
  text.Add(config.cluster_rules.allowed);
  text.Add(config.cluster_rules.search);
  return Sha256Digest(text.text());
}

}  // namespace inspection
