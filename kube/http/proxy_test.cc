// SPDX-License-Identifier: Apache-2.0
#include "kube/http/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace kube {
namespace {

std::string ProxyOf(const ProxySettings& settings, std::string_view origin) {
  Result<std::optional<Url>> proxy = settings.For(*Url::Parse(origin));
  if (!proxy) return proxy.error().ToString();
  return *proxy ? (*proxy)->ToString() : "direct";
}

TEST(ProxyTest, EachSchemeHasItsOwn) {
  ProxySettings settings{.https_proxy = "http://secure:1", .http_proxy = "plain:2"};
  EXPECT_EQ(ProxyOf(settings, "https://example.com"), "http://secure:1/");
  EXPECT_EQ(ProxyOf(settings, "http://example.com"), "http://plain:2/");
  EXPECT_EQ(ProxyOf({.https_proxy = "http://secure:1"}, "http://example.com"), "direct");
}

TEST(ProxyTest, UpperCaseVariablesTakePrecedence) {
  std::map<std::string, std::string> env{
      {"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://b:1"}, {"no_proxy", "x"}};
  ProxySettings settings = ProxySettings::From([&](const char* name) -> const char* {
    auto found = env.find(name);
    return found == env.end() ? nullptr : found->second.c_str();
  });
  EXPECT_EQ(settings.https_proxy, "http://a:1");
  EXPECT_EQ(settings.no_proxy, "x");
  EXPECT_EQ(settings.http_proxy, "");
}

TEST(ProxyTest, NoProxyIsReadAsGoReadsIt) {
  struct Row {
    std::string no_proxy, origin;
    bool direct;
  };
  const Row kRows[] = {
      {"*", "https://example.com", true},
      {"example.com", "https://example.com", true},
      {"example.com", "https://a.example.com", true},
      {"example.com", "https://badexample.com", false},
      {".example.com", "https://example.com", false},
      {".example.com", "https://a.example.com", true},
      {"*.example.com", "https://a.example.com", true},
      {"Example.COM", "https://example.com", true},
      {"other, example.com ,third", "https://example.com", true},
      {"example.com:8443", "https://example.com", false},
      {"example.com:8443", "https://example.com:8443", true},
      {"10.0.0.0/8", "https://10.96.0.1", true},
      {"10.0.0.0/8", "https://11.96.0.1", false},
      {"10.0.0.0/8", "https://ten.example.com", false},
      {"10.96.0.1", "https://10.96.0.1", true},
      {"10.96.0.1:443", "https://10.96.0.1", true},
      {"fd00::/8", "https://[fd00::1]:6443", true},
      {"[fd00::1]:6443", "https://[fd00::1]:6443", true},
      {"fd00::1", "https://[fd00::1]:6443", true},
      {"", "https://localhost", true},
      {"", "https://127.0.0.1:6443", true},
      {"", "https://[::1]:6443", true},
      {".svc,.cluster.local", "https://kubernetes.default.svc", true},
  };
  for (const Row& row : kRows) {
    ProxySettings settings{.https_proxy = "http://p:1", .no_proxy = row.no_proxy};
    EXPECT_EQ(ProxyOf(settings, row.origin), row.direct ? "direct" : "http://p:1/")
        << row.no_proxy << " " << row.origin;
  }
}

TEST(ProxyTest, AnUnsupportedProxySchemeIsAnError) {
  EXPECT_EQ(
      ProxySettings{.https_proxy = "socks5://p:1"}.For(*Url::Parse("https://e.com")).error().code(),
      Code::kInvalid);
  EXPECT_EQ(
      ProxySettings{.https_proxy = "https://p:1"}.For(*Url::Parse("https://e.com")).error().code(),
      Code::kInvalid);
}

}  // namespace
}  // namespace kube
