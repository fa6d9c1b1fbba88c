// SPDX-License-Identifier: Apache-2.0
#include "exec-format/testing/make_elf.h"

#include <vector>

namespace exec_format {
namespace {

class Writer {
 public:
  Writer(bool big_endian, size_t word) : big_endian_(big_endian), word_(word) {}

  void Number(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      const size_t shift = 8 * (big_endian_ ? size - 1 - i : i);
      bytes_ += static_cast<char>(value >> shift & 0xff);
    }
  }
  void Word(uint64_t value) { Number(value, word_); }
  void Bytes(const std::string& bytes) { bytes_ += bytes; }
  std::string Take() { return std::move(bytes_); }

 private:
  bool big_endian_;
  size_t word_;
  std::string bytes_;
};

std::string LevelNote(int level, size_t word) {
  Writer writer(false, word);
  writer.Number(4, 4);
  writer.Number(8 + word, 4);
  writer.Number(5, 4);  // NT_GNU_PROPERTY_TYPE_0
  writer.Bytes(std::string("GNU\0", 4));
  writer.Number(0xc0008002, 4);  // GNU_PROPERTY_X86_ISA_1_NEEDED
  writer.Number(4, 4);
  writer.Number((uint64_t{1} << level) - 1, 4);
  if (word == 8) writer.Number(0, 4);
  return writer.Take();
}

}  // namespace

std::string MakeElf(const ElfParts& parts) {
  const bool is64 = parts.bits == 64;
  const size_t word = is64 ? 8 : 4;
  const size_t header = is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  const size_t entry = is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  struct Segment {
    uint32_t type;
    uint64_t alignment;
    std::string content;
  };
  std::vector<Segment> segments = {{PT_LOAD, parts.alignment, "code"}};
  if (!parts.interpreter.empty())
    segments.push_back({PT_INTERP, 1, parts.interpreter + std::string(1, '\0')});
  if (parts.amd64_level > 0)
    segments.push_back({0x6474e553, word, LevelNote(parts.amd64_level, word)});

  Writer writer(parts.big_endian, word);
  writer.Bytes(ELFMAG);
  writer.Number(is64 ? ELFCLASS64 : ELFCLASS32, 1);
  writer.Number(parts.big_endian ? ELFDATA2MSB : ELFDATA2LSB, 1);
  writer.Number(EV_CURRENT, 1);
  writer.Bytes(std::string(EI_NIDENT - 7, '\0'));
  writer.Number(parts.type, 2);
  writer.Number(parts.machine, 2);
  writer.Number(EV_CURRENT, 4);
  writer.Word(0x1000);  // e_entry
  writer.Word(header);  // e_phoff
  writer.Word(0);       // e_shoff
  writer.Number(0, 4);  // e_flags
  writer.Number(header, 2);
  writer.Number(entry, 2);
  writer.Number(segments.size(), 2);
  writer.Number(0, 2);
  writer.Number(0, 2);
  writer.Number(0, 2);
  uint64_t offset = header + segments.size() * entry;
  for (const Segment& segment : segments) {
    writer.Number(segment.type, 4);
    if (is64) writer.Number(PF_R | PF_X, 4);
    writer.Word(offset);
    writer.Word(offset);  // p_vaddr
    writer.Word(offset);  // p_paddr
    writer.Word(segment.content.size());
    writer.Word(segment.content.size());
    if (!is64) writer.Number(PF_R | PF_X, 4);
    writer.Word(segment.alignment);
    offset += segment.content.size();
  }
  for (const Segment& segment : segments) writer.Bytes(segment.content);
  return writer.Take();
}

}  // namespace exec_format
