// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/config_check.h"

#include <algorithm>
#include <optional>
#include <string>

#include "inspection/config/credentials.h"
#include "inspection/config/image_policy.h"
#include "inspection/config/registries_config.h"
#include "kube/http/tls.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

// Finds the position of the first syntax error in a JSON text.
class JsonErrorFinder final : public nlohmann::json_sax<Json> {
 public:
  // Counted in characters, from 1.
  std::optional<size_t> position() const { return position_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    position_ = position;
    return false;
  }

 private:
  std::optional<size_t> position_;
};

Result<> CheckJson(std::string_view text) {
  JsonErrorFinder finder;
  (void)Json::sax_parse(text.begin(), text.end(), &finder);
  if (!finder.position()) return Ok();
  std::string_view before = text.substr(0, std::min(*finder.position(), text.size()));
  if (before.size() == *finder.position() && !before.empty()) before.remove_suffix(1);
  size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return Error::Invalid("line " + std::to_string(line) + ", column " + std::to_string(column) +
                        ": not valid JSON");
}

// Removes the next line from `text` and returns it.
std::string_view TakeLine(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

// Whether OpenSSL reads the block as a certificate.
bool IsCertificate(std::string_view begin) {
  return begin.starts_with("-----BEGIN CERTIFICATE-----") ||
         begin.starts_with("-----BEGIN X509 CERTIFICATE-----") ||
         begin.starts_with("-----BEGIN TRUSTED CERTIFICATE-----");
}

}  // namespace

Result<> CheckRegistriesConf(std::string_view toml) {
  Result<RegistriesConfig> parsed = RegistriesConfig::Parse(toml);
  if (!parsed) return parsed.error();
  return Ok();
}

Result<> CheckPolicyJson(std::string_view json) {
  if (Result<> syntax = CheckJson(json); !json.empty() && !syntax)
    return syntax.error().Prefix("policy.json");
  Result<ImagePolicy> parsed = ImagePolicy::Parse(json);
  if (!parsed) return parsed.error();
  return Ok();
}

Result<int> CountCertificates(std::string_view pem) {
  int certificates = 0;
  int line_number = 0;
  while (!pem.empty()) {
    std::string_view rest = pem;
    std::string_view begin = TakeLine(pem);
    ++line_number;
    if (!begin.starts_with("-----BEGIN ")) continue;
    int begun = line_number;
    bool ended = false;
    while (!pem.empty() && !ended) {
      ended = TakeLine(pem).starts_with("-----END ");
      ++line_number;
    }
    if (!IsCertificate(begin)) continue;
    ++certificates;
    std::string_view block = rest.substr(0, rest.size() - pem.size());
    if (ended && kube::TlsContext::New({.ca_pem = std::string(block)})) continue;
    return Error::Invalid("line " + std::to_string(begun) + ": certificate " +
                          std::to_string(certificates) + " cannot be read");
  }
  return certificates;
}

Result<> CheckPullSecret(std::string_view type, std::string_view data) {
  if (type != kDockerConfigJsonType && type != kDockerCfgType) {
    return Error::Invalid("the type is " + std::string(type) + ", not " +
                          std::string(kDockerConfigJsonType));
  }
  if (Result<> syntax = CheckJson(data); !syntax) return syntax;
  Keyring keyring;
  // AddSecret()'s errors quote no contents.
  if (Result<> added = keyring.AddSecret("", type, data); !added)
    return Error::Invalid("there is no object \"auths\"");
  Result<Json> json = kube::ParseJson(data);
  const Json* auths = json && type == kDockerConfigJsonType ? kube::Find(*json, "auths")
                      : json                                ? &*json
                                                            : nullptr;
  if (keyring.empty() && auths != nullptr && !auths->empty()) {
    return Error::Invalid("no entry has a valid registry and credential");
  }
  return Ok();
}

}  // namespace inspection
