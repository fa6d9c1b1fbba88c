// SPDX-License-Identifier: Apache-2.0
#include "exec-format/binary/binary_format.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "exec-format/testing/make_elf.h"

namespace exec_format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = BinaryFormat::Kind;

BinaryFormat Read(std::string_view bytes) { return ReadBinaryFormat(bytes, bytes.size()); }

std::string HeadOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kMaxHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

TEST(BinaryFormatTest, MachinesInBothByteOrders) {
  struct Row {
    uint16_t machine;
    int bits;
    bool big;
    const char* architecture;
  };
  for (const Row& row :
       {Row{EM_X86_64, 64, false, "amd64"}, Row{EM_X86_64, 32, false, "amd64p32"},
        Row{EM_386, 32, false, "386"}, Row{EM_AARCH64, 64, false, "arm64"},
        Row{EM_AARCH64, 64, true, "arm64be"}, Row{EM_ARM, 32, false, "arm"},
        Row{EM_ARM, 32, true, "armbe"}, Row{EM_PPC64, 64, false, "ppc64le"},
        Row{EM_PPC64, 64, true, "ppc64"}, Row{EM_PPC, 32, true, "ppc"},
        Row{EM_S390, 64, true, "s390x"}, Row{EM_S390, 32, true, "s390"},
        Row{EM_RISCV, 64, false, "riscv64"}, Row{EM_MIPS, 64, false, "mips64le"},
        Row{EM_MIPS, 32, true, "mips"}, Row{258, 64, false, "loong64"},
        Row{EM_S390, 64, false, "machine 22"}, Row{9999, 64, false, "machine 9999"}}) {
    SCOPED_TRACE(row.architecture);
    BinaryFormat format = Read(MakeElf(
        {.machine = row.machine, .bits = row.bits, .big_endian = row.big, .alignment = 0x10000}));
    ASSERT_EQ(format.kind, Kind::kElf) << format.problem;
    EXPECT_EQ(format.elf.architecture, row.architecture);
    EXPECT_EQ(format.elf.machine, row.machine);
    EXPECT_EQ(format.elf.bits, row.bits);
    EXPECT_EQ(format.elf.big_endian, row.big);
    EXPECT_EQ(format.elf.type, ET_DYN);
    EXPECT_EQ(format.elf.page_alignment, 0x10000);
    EXPECT_EQ(format.elf.interpreter, "");
  }
}

TEST(BinaryFormatTest, InterpreterAndLevel) {
  BinaryFormat format = Read(MakeElf(
      {.machine = EM_X86_64, .interpreter = "/lib64/ld-linux-x86-64.so.2", .amd64_level = 3}));
  ASSERT_EQ(format.kind, Kind::kElf) << format.problem;
  EXPECT_EQ(format.elf.interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(format.elf.amd64_level, 3);

  format = Read(MakeElf({.machine = EM_S390, .big_endian = true, .interpreter = "/lib/ld64.so.1"}));
  EXPECT_EQ(format.elf.interpreter, "/lib/ld64.so.1");
}

TEST(BinaryFormatTest, WhatIsBeyondTheGivenBytesIsNotKnown) {
  const std::string elf = MakeElf({.machine = EM_X86_64, .interpreter = "/lib/ld.so"});
  BinaryFormat format = ReadBinaryFormat(elf.substr(0, sizeof(Elf64_Ehdr)), elf.size());
  EXPECT_EQ(format.kind, Kind::kElf);
  EXPECT_EQ(format.elf.architecture, "amd64");
  EXPECT_EQ(format.elf.page_alignment, 0);
}

TEST(BinaryFormatTest, EveryPrefixOfAnElfFileHasAName) {
  for (bool big : {false, true}) {
    const std::string elf =
        MakeElf({.machine = EM_S390, .big_endian = big, .interpreter = "/lib/ld64.so.1"});
    for (size_t size = 0; size < elf.size(); ++size) {
      const std::string part = elf.substr(0, size);
      const BinaryFormat format = Read(part);
      EXPECT_NE(Describe(format), "") << size;
      const bool complete = format.kind == Kind::kElf;
      EXPECT_TRUE(!complete || size >= sizeof(Elf64_Ehdr)) << size;
    }
  }
}

TEST(BinaryFormatTest, MalformedHeaders) {
  struct Row {
    const char* name;
    size_t offset;
    std::string bytes;
    const char* problem;
  };
  const std::string elf = MakeElf({.machine = EM_X86_64, .interpreter = "/lib/ld.so"});
  const size_t interp = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);  // after PT_LOAD
  for (const Row& row : {
           Row{"class", EI_CLASS, "\x07", "class"},
           Row{"byte order", EI_DATA, "\x07", "byte order"},
           Row{"no headers", offsetof(Elf64_Ehdr, e_phnum), std::string(2, '\0'), "no program"},
           Row{"many headers", offsetof(Elf64_Ehdr, e_phnum), "\xff\xff", "too many"},
           Row{"header size", offsetof(Elf64_Ehdr, e_phentsize), "\x20", "another size"},
           Row{"table", offsetof(Elf64_Ehdr, e_phoff), std::string(8, '\xff'), "beyond the end"},
           Row{"long path", interp + offsetof(Elf64_Phdr, p_filesz), std::string(8, '\xff'),
               "wrong size"},
           Row{"no NUL", interp + offsetof(Elf64_Phdr, p_filesz), std::string("\x04", 1), "no end"},
       }) {
    SCOPED_TRACE(row.name);
    std::string bad = elf;
    bad.replace(row.offset, row.bytes.size(), row.bytes);
    const BinaryFormat format = Read(bad);
    EXPECT_EQ(format.kind, Kind::kBadElf);
    EXPECT_THAT(format.problem, HasSubstr(row.problem));
    EXPECT_EQ(RunsOn(format, "amd64"), RunVerdict::kNo);
  }
}

TEST(BinaryFormatTest, Scripts) {
  struct Row {
    std::string text;
    const char* interpreter;
    const char* argument;
  };
  for (const Row& row : {Row{"#!/bin/sh\n", "/bin/sh", ""},
                         Row{"#! /usr/bin/env  python3 -u \nimport", "/usr/bin/env", "python3 -u"},
                         Row{"#!/bin/sh", "/bin/sh", ""}, Row{"#!\t/bin/sh -e", "/bin/sh", "-e"},
                         Row{"#!/bin/sh\r\n", "/bin/sh\r", ""}, Row{"#!sh\n", "sh", ""},
                         Row{std::string("#!/bin/sh\0x\n", 12), "/bin/sh", ""}}) {
    SCOPED_TRACE(row.text);
    const BinaryFormat format = Read(row.text);
    ASSERT_EQ(format.kind, Kind::kScript);
    EXPECT_EQ(format.interpreter, row.interpreter);
    EXPECT_EQ(format.argument, row.argument);
    EXPECT_EQ(RunsOn(format, "arm64"), RunVerdict::kMaybe);
  }
  for (const std::string& text :
       {std::string("#!\n/bin/sh"), std::string("#!  "), "#!" + std::string(300, 'x')}) {
    const BinaryFormat format = Read(text);
    EXPECT_EQ(format.kind, Kind::kOther);
    EXPECT_NE(format.problem, "");
  }
}

TEST(BinaryFormatTest, NoPrograms) {
  EXPECT_EQ(Read("").kind, Kind::kEmpty);
  EXPECT_EQ(Read("echo hello\n").kind, Kind::kOther);
  EXPECT_EQ(Read("MZ\x90").kind, Kind::kPe);
  EXPECT_EQ(Read("\xcf\xfa\xed\xfe....").kind, Kind::kMachO);
  EXPECT_EQ(Read(std::string("\xca\xfe\xba\xbe\0\0\0\x02", 8)).kind, Kind::kMachO);
  EXPECT_EQ(Read(std::string("\xca\xfe\xba\xbe\0\0\0\x34", 8)).kind, Kind::kOther);  // a class
  for (std::string_view text : {"", "echo", "MZ",
                                "\x7f"
                                "EL"})
    EXPECT_EQ(RunsOn(Read(text), "amd64"), RunVerdict::kNo) << text;
}

TEST(BinaryFormatTest, RunsOn) {
  struct Row {
    ElfParts parts;
    const char* node;
    RunVerdict verdict;
  };
  const ElfParts amd64{.machine = EM_X86_64}, arm64{.machine = EM_AARCH64},
      ppc64le{.machine = EM_PPC64}, ppc64{.machine = EM_PPC64, .big_endian = true},
      s390x{.machine = EM_S390, .big_endian = true}, i386{.machine = EM_386, .bits = 32},
      x32{.machine = EM_X86_64, .bits = 32}, arm{.machine = EM_ARM, .bits = 32},
      object{.machine = EM_X86_64, .type = ET_REL}, unknown{.machine = 9999};
  for (const Row& row : {
           Row{amd64, "amd64", RunVerdict::kYes},
           Row{amd64, "arm64", RunVerdict::kNo},
           Row{arm64, "arm64", RunVerdict::kYes},
           Row{arm64, "amd64", RunVerdict::kNo},
           Row{ppc64le, "ppc64le", RunVerdict::kYes},
           Row{ppc64, "ppc64le", RunVerdict::kNo},
           Row{s390x, "s390x", RunVerdict::kYes},
           Row{s390x, "ppc64le", RunVerdict::kNo},
           Row{i386, "amd64", RunVerdict::kYes},
           Row{i386, "386", RunVerdict::kYes},
           Row{amd64, "386", RunVerdict::kNo},
           Row{x32, "amd64", RunVerdict::kMaybe},
           Row{arm, "arm64", RunVerdict::kMaybe},
           Row{arm64, "arm", RunVerdict::kNo},
           Row{object, "amd64", RunVerdict::kNo},
           Row{unknown, "amd64", RunVerdict::kNo},
           Row{unknown, "", RunVerdict::kNo},
       }) {
    const BinaryFormat format = Read(MakeElf(row.parts));
    EXPECT_EQ(RunsOn(format, row.node), row.verdict)
        << format.elf.architecture << " on " << row.node;
  }
}

TEST(BinaryFormatTest, PagesTooLarge) {
  auto pages = [](uint16_t machine, uint64_t alignment, std::string_view architecture) {
    return PagesTooLarge(Read(MakeElf({.machine = machine, .alignment = alignment})), architecture);
  };
  constexpr uint64_t k16 = 16 << 10, k64 = 64 << 10;
  EXPECT_THAT(pages(EM_AARCH64, 4096, "arm64"), ElementsAre(k16, k64));
  EXPECT_THAT(pages(EM_AARCH64, k16, "arm64"), ElementsAre(k64));
  EXPECT_THAT(pages(EM_AARCH64, k64, "arm64"), IsEmpty());
  EXPECT_THAT(pages(EM_AARCH64, 2 << 20, "arm64"), IsEmpty());
  EXPECT_THAT(pages(EM_PPC64, 4096, "ppc64le"), ElementsAre(k64));
  EXPECT_THAT(pages(EM_X86_64, 4096, "amd64"), IsEmpty());
  EXPECT_THAT(pages(EM_AARCH64, 4096, "amd64"), IsEmpty());
  EXPECT_THAT(PagesTooLarge(Read("#!/bin/sh"), "arm64"), IsEmpty());
}

TEST(BinaryFormatTest, ThisProgram) {
  const BinaryFormat format = Read(HeadOf("/proc/self/exe"));
  ASSERT_EQ(format.kind, Kind::kElf) << format.problem;
#if defined(__x86_64__)
  EXPECT_EQ(RunsOn(format, "amd64"), RunVerdict::kYes);
#elif defined(__aarch64__)
  EXPECT_EQ(RunsOn(format, "arm64"), RunVerdict::kYes);
#elif defined(__s390x__)
  EXPECT_EQ(RunsOn(format, "s390x"), RunVerdict::kYes);
#elif defined(__powerpc64__)
  EXPECT_EQ(RunsOn(format, "ppc64le"), RunVerdict::kYes);
#endif
  EXPECT_GE(format.elf.page_alignment, 4096u);
  EXPECT_THAT(format.elf.interpreter, HasSubstr("/ld"));
}

// Where Debian's cross compilers are installed.
TEST(BinaryFormatTest, LoadersOfOtherArchitectures) {
  struct Row {
    const char* path;
    const char* architecture;
    uint64_t alignment;
  };
  for (const Row& row : {Row{"/usr/aarch64-linux-gnu/lib/libc.so.6", "arm64", 64 << 10},
                         Row{"/usr/powerpc64le-linux-gnu/lib/libc.so.6", "ppc64le", 64 << 10},
                         Row{"/usr/s390x-linux-gnu/lib/libc.so.6", "s390x", 4096}}) {
    if (!std::filesystem::exists(row.path)) continue;
    const BinaryFormat format = Read(HeadOf(row.path));
    EXPECT_EQ(format.elf.architecture, row.architecture);
    EXPECT_EQ(format.elf.page_alignment, row.alignment) << row.path;
  }
}

}  // namespace
}  // namespace exec_format
