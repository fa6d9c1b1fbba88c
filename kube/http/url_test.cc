// SPDX-License-Identifier: Apache-2.0
#include "kube/http/url.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

struct Good {
  std::string_view text, scheme, host, port, target;
};

TEST(UrlTest, ParsesUrls) {
  constexpr Good kRows[] = {
      {"https://example.com", "https", "example.com", "443", "/"},
      {"http://example.com", "http", "example.com", "80", "/"},
      {"HTTPS://Example.COM:8443/v2/?n=5#part", "https", "example.com", "8443", "/v2/?n=5"},
      {"https://10.0.0.1:6443/k8s/clusters/c-1", "https", "10.0.0.1", "6443", "/k8s/clusters/c-1"},
      {"https://[2001:DB8::1]:6443/a", "https", "2001:db8::1", "6443", "/a"},
      {"https://[::1]", "https", "::1", "443", "/"},
      {"https://example.com?q=1", "https", "example.com", "443", "/?q=1"},
      {"https://example.com:", "https", "example.com", "443", "/"},
  };
  for (const Good& row : kRows) {
    Result<Url> url = Url::Parse(row.text);
    ASSERT_TRUE(url) << row.text << ": " << url.error();
    EXPECT_EQ(url->scheme, row.scheme) << row.text;
    EXPECT_EQ(url->host, row.host) << row.text;
    EXPECT_EQ(url->port, row.port) << row.text;
    EXPECT_EQ(url->target, row.target) << row.text;
  }
}

TEST(UrlTest, RefusesUrlsThatCouldInjectText) {
  constexpr std::string_view kRows[] = {
      "",
      "/path",
      "example.com",
      "ftp://example.com",
      "file:///etc/passwd",
      "https://",
      "https:///path",
      "https://host:0/",
      "https://host:65536/",
      "https://host:-1/",
      "https://host:80x/",
      "https://ho st/",
      "https://host/a b",
      "https://host/a\r\nX: y",
      "https://host\r\n/",
      "https://[::1",
      "https://[::1]x",
      "https://[host]/",
      "https://[fe80::1%25eth0]/",
      "https://h\xc3\xb6st/",
      "https://a:b:c/",
      "https://%zz@host/",
  };
  for (std::string_view row : kRows) {
    Result<Url> url = Url::Parse(row);
    ASSERT_FALSE(url) << row;
    EXPECT_EQ(url.error().code(), Code::kInvalid) << row;
  }
  EXPECT_FALSE(Url::Parse("https://host/" + std::string(9000, 'a')));
}

TEST(UrlTest, UserInformationIsDecodedAndNotPrinted) {
  Result<Url> url = Url::Parse("http://me:p%40ss@proxy:3128");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->userinfo, "me:p@ss");
  EXPECT_EQ(url->host, "proxy");
  EXPECT_EQ(url->ToString(), "http://proxy:3128/");
}

TEST(UrlTest, AuthorityLeavesOutTheDefaultPortAndBracketsIpv6) {
  EXPECT_EQ(Url::Parse("https://h:443/")->Authority(), "h");
  EXPECT_EQ(Url::Parse("http://h:443/")->Authority(), "h:443");
  EXPECT_EQ(Url::Parse("https://[::1]:6443/")->Authority(), "[::1]:6443");
}

}  // namespace
}  // namespace kube
