// SPDX-License-Identifier: Apache-2.0
#include "plugin/text/table.h"

#include <gtest/gtest.h>

namespace plugin {
namespace {

TEST(TableTest, ColumnsAreAligned) {
  Table table({"NAME", "RUNS ON"});
  table.Add({"web", "amd64"});
  table.Add({"überlang", "arm64"});
  EXPECT_EQ(table.ToText(),
            "NAME       RUNS ON\n"
            "web        amd64\n"
            "überlang   arm64\n");
}

TEST(TableTest, TextOfOthersStaysInItsCell) {
  Table table({"A", "B"});
  table.Add({"x\ny\x1b[31m", "b"});
  EXPECT_EQ(table.ToText(),
            "A          B\n"
            "x y [31m   b\n");
}

TEST(TableTest, Csv) {
  Table table({"A", "B"});
  table.Add({"a,\"b\"", "=1+1"});
  table.Add({"", "-x"});
  EXPECT_EQ(table.ToCsv(),
            "A,B\r\n"
            "\"a,\"\"b\"\"\",'=1+1\r\n"
            ",'-x\r\n");
}

}  // namespace
}  // namespace plugin
