// SPDX-License-Identifier: Apache-2.0
#include "kube/types/quantity.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

TEST(QuantityTest, Values) {
  struct Row {
    const char* text;
    double value;
  };
  const Row rows[] = {
      {"0", 0},           {"4", 4},          {"+4", 4},         {"-4", -4},
      {"007", 7},         {"1.5", 1.5},      {".5", 0.5},       {"5.", 5},
      {"3500m", 3.5},     {"100n", 1e-7},    {"7u", 7e-6},      {"2k", 2e3},
      {"2M", 2e6},        {"2G", 2e9},       {"2T", 2e12},      {"2P", 2e15},
      {"2E", 2e18},       {"1Ki", 1024},     {"16Gi", 0x1p34},  {"1.5Mi", 1572864},
      {"1Ti", 0x1p40},    {"1Pi", 0x1p50},   {"1Ei", 0x1p60},   {"1e3", 1e3},
      {"1E3", 1e3},       {"1e+3", 1e3},     {"12E-3", 0.012},  {"1e-9", 1e-9},
      {"9999E", 0x1p63},  {"1e999", 0x1p63}, {"-8Ei", -0x1p63}, {"1e-999", 0},
      {"-9e30", -0x1p63},
  };
  for (const Row& row : rows) {
    ASSERT_TRUE(ParseQuantity(row.text)) << row.text;
    EXPECT_EQ(*ParseQuantity(row.text), row.value) << row.text;
  }
}

TEST(QuantityTest, RefusesOtherTexts) {
  const std::string too_long(65, '1');
  for (const char* text :
       {"",        "-",   "+-1", "--1",  ".",    "1.2.3", "1 ",    " 1",
        "m",       "1mi", "1ki", "1K",   "1e",   "1e+",   "1e1.5", "1e3m",
        "1e12345", "nan", "inf", "-inf", "0x10", "1,5",   "1Gib",  too_long.c_str()}) {
    EXPECT_FALSE(ParseQuantity(text)) << text;
  }
  EXPECT_FALSE(ParseQuantity(std::string("1\0", 2)));
}

TEST(QuantityTest, CanonicalAmounts) {
  EXPECT_EQ(CanonicalCpu("1000m"), "1");
  EXPECT_EQ(CanonicalCpu("0.25"), "250m");
  EXPECT_EQ(CanonicalCpu("0"), "0");
  EXPECT_EQ(CanonicalCpu("9999E"), "9223372036854775807m");
  EXPECT_EQ(CanonicalMemory("1024Mi"), "1Gi");
  EXPECT_EQ(CanonicalMemory("1.5Gi"), "1536Mi");
  EXPECT_EQ(CanonicalMemory("3G"), "3G");
  EXPECT_EQ(CanonicalMemory("1001"), "1001");
  EXPECT_EQ(CanonicalMemory("0"), "0");
  EXPECT_EQ(CanonicalMemory("many"), "0");
}

}  // namespace
}  // namespace kube
