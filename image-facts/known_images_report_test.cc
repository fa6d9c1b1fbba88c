// SPDX-License-Identifier: Apache-2.0
#include "image-facts/known_images_report.h"

#include <gtest/gtest.h>

#include <string>

namespace image_facts {
namespace {

TEST(KnownImagesReportTest, ReadsWhatItWrites) {
  const KnownImagesReport report{"4f3a", 100, 93, 12};
  EXPECT_EQ(ToText(report), "4f3a 100 93 12");
  EXPECT_EQ(ReportFromText(ToText(report)), report);
}

TEST(KnownImagesReportTest, RefusesOtherText) {
  for (const std::string& text :
       {std::string(), std::string("4f3a"), std::string("4f3a 1 1"), std::string("4f3a 1 1 1 1"),
        std::string("4f3a 1 1 1 "), std::string("4f3a -1 1 1"), std::string("4f3a 1 2 1"),
        std::string("4F3A 1 1 1"), std::string("x 1 1 1"), std::string("4f3a 1 x 1"),
        std::string(33, 'a') + " 1 1 1", "4f3a 1 1 " + std::string(200, '1')}) {
    EXPECT_FALSE(ReportFromText(text)) << text;
  }
}

}  // namespace
}  // namespace image_facts
