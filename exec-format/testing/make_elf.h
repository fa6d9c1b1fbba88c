// SPDX-License-Identifier: Apache-2.0
// MakeElf(): small ELF files for tests, with the headers that a kernel reads and no code.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>

namespace exec_format {

struct ElfParts {
  uint16_t machine = EM_X86_64;
  uint16_t type = ET_DYN;
  int bits = 64;
  bool big_endian = false;
  uint64_t alignment = 4096;  // of the only PT_LOAD
  std::string interpreter = "";
  int amd64_level = 0;  // 0: without the note
};

std::string MakeElf(const ElfParts& parts);

}  // namespace exec_format
