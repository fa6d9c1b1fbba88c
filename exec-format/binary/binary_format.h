// SPDX-License-Identifier: Apache-2.0
// BinaryFormat: what a file is for the kernel that executes it: ELF and for which machine, a script
// and its interpreter, or nothing that a kernel runs.
//
//   BinaryFormat format = ReadBinaryFormat(head, file_size);
//   if (RunsOn(format, "arm64") == RunVerdict::kNo) ... exec format error ...
//
// The bytes are untrusted. ELF files of both byte orders are read on every host. Pure.
// Sources: elf(5), the System V gABI, the x86-64 psABI (GNU_PROPERTY_X86_ISA_1_NEEDED), and Linux's
// fs/binfmt_elf.c and fs/binfmt_script.c, which decide what runs.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exec_format {

// Of a file, from its start. More bytes are ignored. Linkers put the program headers, the
// interpreter and the notes into the first page.
inline constexpr size_t kMaxHeadBytes = 64u << 10;

struct ElfFormat {
  // The GOARCH name ("amd64", "arm", "ppc64le") or, where Go has none, a name like it ("arm64be",
  // "s390", "sparc"); "machine 123" for a number without a name.
  std::string architecture;
  uint16_t machine = 0;  // e_machine: EM_X86_64, ...
  uint16_t type = 0;     // e_type: ET_EXEC, ET_DYN, ...
  int bits = 0;          // 32 or 64
  bool big_endian = false;
  // The largest p_align of the PT_LOAD headers, in bytes; 0: not known.
  uint64_t page_alignment = 0;
  // 1 to 4: x86-64-v1 to v4 is needed; 0: the file does not say so.
  int amd64_level = 0;
  // The dynamic loader; "" for a static program, and where it is not in the given bytes.
  std::string interpreter;

  friend auto operator<=>(const ElfFormat&, const ElfFormat&) = default;
};

struct BinaryFormat {
  enum class Kind {
    kEmpty,
    kElf,
    kBadElf,  // begins as ELF does, but `problem` keeps a kernel from running it
    kScript,  // begins with #! and an interpreter
    kPe,      // Windows and UEFI
    kMachO,   // macOS
    kOther,   // nothing that a kernel runs: text without #!, data
  };
  Kind kind = Kind::kEmpty;
  ElfFormat elf;            // kElf
  std::string interpreter;  // kScript: a path, as it is written
  std::string argument;     // kScript: the rest of the line; may be ""
  std::string problem;      // kBadElf, and kOther for a #! line that no kernel accepts

  friend auto operator<=>(const BinaryFormat&, const BinaryFormat&) = default;
};

// `head`: the first bytes of a file. `file_size`: of the whole file, if it is known.
BinaryFormat ReadBinaryFormat(std::string_view head, std::optional<uint64_t> file_size);

enum class RunVerdict {
  kYes,
  // Kernels of the architecture can be built with and without support for it (32-bit arm on arm64),
  // or the answer is that of the script's interpreter.
  kMaybe,
  kNo,  // exec format error
};
// Whether the kernel of a node with this kubernetes.io/arch runs the file, without an emulator
// (binfmt_misc). Architectures that the project does not know run their own files only.
RunVerdict RunsOn(const BinaryFormat& format, std::string_view architecture);

// The page sizes, in bytes, of usual kernels of the architecture for which the file's segments are
// aligned too little, so that it may not run there: 16 KiB and 64 KiB on arm64, 64 KiB on ppc64le.
// Empty for files of another architecture, and where the alignment is not known.
std::vector<uint64_t> PagesTooLarge(const BinaryFormat& format, std::string_view architecture);

// "ELF 64-bit arm64", "script of /bin/sh", "empty file", "no program". For people; the parts that
// come from the file are not made printable.
std::string Describe(const BinaryFormat& format);

}  // namespace exec_format
