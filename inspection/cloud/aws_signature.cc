// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/aws_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <cstdint>
#include <map>

#include "kube/base/ascii.h"

namespace inspection {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char c : bytes) {
    auto byte = static_cast<uint8_t>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Sha256Hex(std::string_view text) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), hash);
  return Hex({reinterpret_cast<const char*>(hash), sizeof hash});
}

std::string Hmac(std::string_view key, std::string_view text) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  unsigned size = sizeof hash;
  HMAC(EVP_sha256(), key.data(), key.size(), reinterpret_cast<const uint8_t*>(text.data()),
       text.size(), hash, &size);
  return {reinterpret_cast<const char*>(hash), size};
}

}  // namespace

std::string AwsDate(kube::WallTime time) {
  std::string date;
  for (char c : kube::FormatTime(time)) {
    if (c != '-' && c != ':') date += c;
  }
  return date;
}

std::string AwsAuthorization(const AwsCredentials& credentials, const AwsScope& scope,
                             std::string_view host, std::string_view date,
                             const kube::HttpRequest& request) {
  std::map<std::string, std::string> headers = {{"host", std::string(host)}};
  for (const auto& [name, value] : request.headers) headers[kube::AsciiLower(name)] = value;
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  std::string canonical =
      request.method + "\n/\n\n" + lines + "\n" + names + "\n" + Sha256Hex(request.body);

  std::string day(date.substr(0, 8));
  std::string place = day + "/" + scope.region + "/" + scope.service + "/aws4_request";
  std::string to_sign = std::string(kAlgorithm) + "\n" + std::string(date) + "\n" + place + "\n" +
                        Sha256Hex(canonical);
  std::string key = "AWS4" + credentials.secret_access_key;
  for (const std::string& part : {day, scope.region, scope.service, std::string("aws4_request")})
    key = Hmac(key, part);
  return std::string(kAlgorithm) + " Credential=" + credentials.access_key_id + "/" + place +
         ", SignedHeaders=" + names + ", Signature=" + Hex(Hmac(key, to_sign));
}

void SignAwsRequest(const AwsCredentials& credentials, const AwsScope& scope, std::string_view host,
                    kube::WallTime now, kube::HttpRequest& request) {
  std::string date = AwsDate(now);
  request.headers.emplace_back("X-Amz-Date", date);
  if (!credentials.session_token.empty())
    request.headers.emplace_back("X-Amz-Security-Token", credentials.session_token);
  std::string authorization = AwsAuthorization(credentials, scope, host, date, request);
  request.headers.emplace_back("Authorization", std::move(authorization));
}

}  // namespace inspection
