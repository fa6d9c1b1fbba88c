// SPDX-License-Identifier: Apache-2.0
#include "console/answers/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace console {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::HasSubstr;

TEST(QueryTest, Values) {
  auto query = Query::Parse("selector=app%3Dweb%2Ctier+in+(a)&name=web-0&&empty=&flag&name=web-1");
  ASSERT_THAT(query, IsOk());
  EXPECT_EQ(query->Get("selector"), "app=web,tier in (a)");
  EXPECT_EQ(query->Get("name"), "web-1");
  EXPECT_EQ(query->Get("empty"), "");
  EXPECT_EQ(query->Get("flag"), "");
  EXPECT_EQ(query->Get("absent"), "");
  EXPECT_EQ(Query::Parse("")->Get(""), "");
}

TEST(QueryTest, OnlyNamesOfObjectsReachAPath) {
  for (const char* text : {"namespace=a%2Fb", "namespace=..", "namespace=..%2F", "namespace=A",
                           "namespace=a%0Ab", "namespace=a%3Fx"}) {
    auto query = Query::Parse(text);
    ASSERT_THAT(query, IsOk()) << text;
    EXPECT_THAT(query->Namespace(), FailsWith(Code::kInvalid, HasSubstr("namespace"))) << text;
  }
  EXPECT_EQ(*Query::Parse("")->Namespace(), "");
  EXPECT_THAT(Query::Parse("")->RequiredName("name"), FailsWith(Code::kInvalid));
  EXPECT_EQ(*Query::Parse("name=web.1")->RequiredName("name"), "web.1");
}

TEST(QueryTest, BadEncoding) {
  for (const char* text : {"a=%", "a=%4", "a=%zz", "%=a"})
    EXPECT_THAT(Query::Parse(text), FailsWith(Code::kInvalid)) << text;
}

}  // namespace
}  // namespace console
