// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/testing/mutate.h"

namespace inspection {
namespace {

const std::string kSha256 = "sha256:" + std::string(64, 'a');
const std::string kSha512 = "sha512:" + std::string(128, '0');

struct Good {
  std::string text, registry, repository, tag, digest;
  bool short_name = false;
};

TEST(ReferenceTest, CompletesShortNames) {
  const Good rows[] = {
      {"nginx", "docker.io", "library/nginx", "latest", "", true},
      {"nginx:1.27-alpine", "docker.io", "library/nginx", "1.27-alpine", "", true},
      {"bitnami/redis", "docker.io", "bitnami/redis", "latest", "", true},
      {"docker.io/nginx", "docker.io", "library/nginx", "latest", ""},
      {"index.docker.io/library/nginx:1", "docker.io", "library/nginx", "1", ""},
      {"localhost/app", "localhost", "app", "latest", ""},
      {"Registry/app", "Registry", "app", "latest", ""},
      {"R.io/app", "r.io", "app", "latest", ""},
      {"r.io:5000/a/b/c/d:v1", "r.io:5000", "a/b/c/d", "v1", ""},
      {"10.0.0.1:5000/app:1", "10.0.0.1:5000", "app", "1", ""},
      {"[fd00::1]:5000/app:1", "[fd00::1]:5000", "app", "1", ""},
      {"[::1]/app", "[::1]", "app", "latest", ""},
      {"r.io/a__b/c--d/e.f_g", "r.io", "a__b/c--d/e.f_g", "latest", ""},
      {"r.io/app@" + kSha256, "r.io", "app", "", kSha256},
      {"r.io/app:v1@" + kSha512, "r.io", "app", "v1", kSha512},
      {"r.io/app:" + std::string(128, 't'), "r.io", "app", std::string(128, 't'), ""},
      {"app:5000", "docker.io", "library/app", "5000", "", true},
  };
  for (const Good& row : rows) {
    kube::Result<Reference> got = Reference::Parse(row.text);
    ASSERT_TRUE(got) << row.text << ": " << got.error();
    EXPECT_EQ(got->registry, row.registry) << row.text;
    EXPECT_EQ(got->repository, row.repository) << row.text;
    EXPECT_EQ(got->tag, row.tag) << row.text;
    EXPECT_EQ(got->digest, row.digest) << row.text;
    EXPECT_EQ(got->short_name, row.short_name) << row.text;
  }
}

TEST(ReferenceTest, RefusesInvalidNames) {
  const std::string rows[] = {
      "",
      " ",
      "/app",
      "app/",
      "r.io/",
      "r.io//app",
      "r.io/App",
      "r.io/a..b",
      "r.io/a___b",
      "r.io/-a",
      "r.io/a-",
      "r.io/app:",
      "r.io/app:-1",
      "r.io/app:.1",
      "r.io:/app",
      "r.io:0/app",
      "r.io:99999/a",
      "-r.io/app",
      "r..io/app",
      "[::1/app",
      "[zz]/app",
      "[::1]x/app",
      "r.io/app@",
      "r.io/app@sha256:ab",
      "r.io/app@md5:" + std::string(32, 'a'),
      "r.io/app@sha256:" + std::string(64, 'A'),
      "r.io/app:" + std::string(129, 't'),
      std::string(64, 'a'),
      "r.io/" + std::string(260, 'a'),
      std::string(2000, 'a'),
      "https://r.io/app",
      "r.io/app:1\n",
      "r.io/app@" + kSha256 + "@" + kSha256,
      "user@r.io/app",
  };
  for (const std::string& row : rows) {
    kube::Result<Reference> got = Reference::Parse(row);
    ASSERT_FALSE(got) << row << " became " << got->ToString();
    EXPECT_EQ(got.error().code(), kube::Code::kInvalid) << row;
  }
}

TEST(ReferenceTest, TheDigestWinsOverTheTag) {
  kube::Result<Reference> both = Reference::Parse("r.io/app:v1@" + kSha256);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->Version(), kSha256);
  EXPECT_EQ(both->ToString(), "r.io/app:v1@" + kSha256);
  kube::Result<Reference> tagged = Reference::Parse("r.io/app:v1");
  ASSERT_TRUE(tagged);
  EXPECT_EQ(tagged->Version(), "v1");
}

TEST(ReferenceTest, ErrorsShowNoControlCharacters) {
  kube::Result<Reference> got = Reference::Parse("r.io/\x1b[31m");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message(), ::testing::Not(::testing::HasSubstr("\x1b")));
}

TEST(ReferenceTest, ToStringOfAParsedNameParsesToTheSame) {
  ForMutations({"[fd00::1]:5000/a/b:v1@" + kSha256, "docker.io/library/nginx:1.2", "r.io:5000/app"},
               20'000, [](const std::string& text) {
                 kube::Result<Reference> once = Reference::Parse(text);
                 if (!once) return;
                 kube::Result<Reference> twice = Reference::Parse(once->ToString());
                 ASSERT_TRUE(twice) << text << " printed as " << once->ToString();
                 EXPECT_EQ(once->ToString(), twice->ToString());
               });
}

}  // namespace
}  // namespace inspection
