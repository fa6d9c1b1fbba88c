// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/program_finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "plugin/inspect/image_details.h"

namespace plugin {
namespace {

using exec_format::BinaryFormat;
using exec_format::FileOutcome;
using exec_format::ImageFile;

BinaryFormat Elf(const std::string& architecture, uint64_t alignment, int level = 0) {
  BinaryFormat format{.kind = BinaryFormat::Kind::kElf};
  format.elf = {.architecture = architecture,
                .machine = 1,
                .type = 2,  // ET_EXEC
                .bits = 64,
                .page_alignment = alignment,
                .amd64_level = level};
  return format;
}
VariantProgram Found(BinaryFormat format) {
  return {.file = ImageFile{.files = {{"/app", "sha256:l", std::move(format)}}}};
}

TEST(ProgramFindingTest, Promises) {
  EXPECT_EQ(PromiseOfPlatform("linux/arm64/v8").architecture, "arm64");
  EXPECT_EQ(PromiseOfPlatform("linux/amd64").amd64_level, 0);
  EXPECT_EQ(PromiseOfPlatform("linux/amd64/v3").amd64_level, 3);
  EXPECT_EQ(PromiseOfPlatform("linux/amd64/v9").amd64_level, 0);
  EXPECT_EQ(PromiseOfPlatform("").os, "");
}

TEST(ProgramFindingTest, Findings) {
  struct Row {
    BinaryFormat format;
    const char* platform;
    const char* finding;
  };
  const BinaryFormat text{.kind = BinaryFormat::Kind::kOther};
  for (const Row& row : {
           Row{Elf("amd64", 4096), "linux/amd64", ""},
           Row{Elf("arm64", 65536), "linux/arm64/v8", ""},
           Row{Elf("386", 4096), "linux/amd64", ""},
           Row{Elf("arm", 4096), "linux/arm64", ""},
           Row{Elf("amd64", 4096), "linux/arm64", "does not run on arm64: ELF 64-bit amd64"},
           Row{Elf("ppc64", 65536), "linux/ppc64le", "does not run on ppc64le: ELF 64-bit ppc64"},
           Row{Elf("arm64", 4096), "linux/arm64",
               "may not run on kernels with pages of 16 KiB or 64 KiB"},
           Row{Elf("ppc64le", 4096), "linux/ppc64le",
               "may not run on kernels with pages of 64 KiB"},
           Row{Elf("amd64", 4096, 3), "linux/amd64",
               "needs x86-64-v3, which its platform does not say"},
           Row{Elf("amd64", 4096, 3), "linux/amd64/v3", ""},
           Row{Elf("amd64", 4096, 1), "linux/amd64", ""},
           Row{text, "linux/amd64", "does not run on amd64: no program"},
       })
    EXPECT_EQ(RowOf(Found(row.format), PromiseOfPlatform(row.platform)).finding, row.finding)
        << row.platform;
}

TEST(ProgramFindingTest, WhatWasNotFound) {
  VariantProgram program{.file = ImageFile{.outcome = FileOutcome::kNotFound, .about = "/app"}};
  EXPECT_EQ(RowOf(program, {}).finding, "not found in any layer: /app");
  program.file = ImageFile{.outcome = FileOutcome::kTooManyBytes, .about = "sha256:l"};
  EXPECT_EQ(RowOf(program, {}).finding, "not read: the layer is too large: sha256:l");
  EXPECT_EQ(RowOf({.error = "registry r.io: 404"}, {}).finding, "registry r.io: 404");
}

TEST(ProgramFindingTest, WhatNeverStarts) {
  const Promise arm64 = PromiseOfPlatform("linux/arm64");
  EXPECT_TRUE(NeverStarts(Found(Elf("amd64", 4096)), arm64));
  EXPECT_FALSE(NeverStarts(Found(Elf("arm64", 4096)), arm64)) << "it may, with other pages";
  EXPECT_FALSE(NeverStarts(Found(Elf("amd64", 4096, 4)), PromiseOfPlatform("linux/amd64")));
  EXPECT_FALSE(NeverStarts({.error = "registry r.io: 404"}, arm64));
  auto with = [](FileOutcome outcome) {
    return VariantProgram{.file = ImageFile{.outcome = outcome, .about = "/app"}};
  };
  EXPECT_TRUE(NeverStarts(with(FileOutcome::kNotFound), arm64));
  EXPECT_TRUE(NeverStarts(with(FileOutcome::kNotExecutable), arm64));
  EXPECT_FALSE(NeverStarts(with(FileOutcome::kNoCommand), arm64));
  EXPECT_FALSE(NeverStarts(with(FileOutcome::kTooManyBytes), arm64));
}

TEST(ProgramFindingTest, ForPeopleAndAsJson) {
  ImageDetails details{.image = "r.io/app:1", .digest = "sha256:i"};
  details.variants = {
      {"linux/amd64", "sha256:a"}, {"linux/arm64/v8", "sha256:b"}, {"windows/amd64", "sha256:c"}};
  details.variants[0].program = Found(Elf("amd64", 4096, 3));
  details.variants[1].program =
      Found({.kind = BinaryFormat::Kind::kScript, .interpreter = "/bin/sh"});
  details.variants[1].program->file->files.push_back(
      {"/bin/d\x1bsh", "sha256:m", Elf("amd64", 4096)});
  const std::string text = Say(details);
  EXPECT_EQ(
      text.substr(text.find("\nPLATFORM", text.find("\nPLATFORM") + 1)),
      "\nPLATFORM      PROGRAM           MACHINE   ALIGNED   LEVEL       FINDING\n"
      "linux/amd64   /app              amd64     4 KiB     x86-64-v3   needs x86-64-v3, which its "
      "platform does not say\n"
      "linux/arm64   /app, /bin/d sh   amd64     4 KiB                 does not run on arm64: ELF "
      "64-bit amd64\n");
  const kube::Json json = AsJson(details);
  EXPECT_EQ(json["variants"][0]["program"]["machine"], "amd64");
  EXPECT_EQ(json["variants"][0]["program"]["amd64Level"], 3);
  EXPECT_EQ(json["variants"][0]["program"]["pageAlignment"], 4096);
  EXPECT_EQ(json["variants"][1]["program"]["finding"], "does not run on arm64: ELF 64-bit amd64");
  EXPECT_EQ(json["variants"][1]["program"]["files"].size(), 2u);
  EXPECT_FALSE(json["variants"][2].contains("program"));
}

}  // namespace
}  // namespace plugin
