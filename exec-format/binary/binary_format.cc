// SPDX-License-Identifier: Apache-2.0
#include "exec-format/binary/binary_format.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace exec_format {
namespace {

// What a kernel reads of a script: BINPRM_BUF_SIZE.
constexpr size_t kScriptLineBytes = 256;
// PATH_MAX, with the final NUL.
constexpr size_t kMaxInterpreterBytes = 4096;
// Larger tables of program headers are ENOEXEC in fs/binfmt_elf.c.
constexpr size_t kMaxProgramHeaderBytes = 64u << 10;
// Of a hostile file: each note costs time, and a compiler writes a few.
constexpr int kMaxNoteSegments = 8;
constexpr size_t kMaxNoteBytes = 4u << 10;
// Newer than glibc 2.36, or missing in other C libraries.
constexpr uint32_t kPtGnuProperty = 0x6474e553;
constexpr uint32_t kNtGnuProperty = 5;
constexpr uint32_t kX86Isa1Needed = 0xc0008002;
constexpr uint16_t kEmLoongArch = 258;

constexpr uint64_t k16KiB = 16u << 10;
constexpr uint64_t k64KiB = 64u << 10;

// An unsigned number of 1, 2, 4 or 8 bytes at `offset`; nullopt beyond the end.
std::optional<uint64_t> NumberAt(std::string_view bytes, uint64_t offset, size_t size,
                                 bool big_endian) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t at = offset + (big_endian ? i : size - 1 - i);
    value = value << 8 | static_cast<unsigned char>(bytes[at]);
  }
  return value;
}

// `size` bytes at `offset`; nullopt beyond the end.
std::optional<std::string_view> BytesAt(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

// The places of the fields that are read, for each class.
struct Layout {
  size_t header_bytes, phoff, phentsize, phnum;
  size_t entry_bytes, p_offset, p_filesz, p_align;
  size_t word;  // bytes of an offset or a size
};
template <class Header, class Entry>
constexpr Layout LayoutOf() {
  return {.header_bytes = sizeof(Header),
          .phoff = offsetof(Header, e_phoff),
          .phentsize = offsetof(Header, e_phentsize),
          .phnum = offsetof(Header, e_phnum),
          .entry_bytes = sizeof(Entry),
          .p_offset = offsetof(Entry, p_offset),
          .p_filesz = offsetof(Entry, p_filesz),
          .p_align = offsetof(Entry, p_align),
          .word = sizeof(Header::e_phoff)};
}
constexpr Layout k32 = LayoutOf<Elf32_Ehdr, Elf32_Phdr>();
constexpr Layout k64 = LayoutOf<Elf64_Ehdr, Elf64_Phdr>();

struct MachineName {
  uint16_t machine;
  // "" where that combination does not exist.
  std::string_view little32, little64, big32, big64;
};
constexpr std::array kMachines = {
    MachineName{EM_X86_64, "amd64p32", "amd64", "", ""},  // with 32 bits: x32
    MachineName{EM_386, "386", "", "", ""},
    MachineName{EM_AARCH64, "arm64p32", "arm64", "arm64p32be", "arm64be"},
    MachineName{EM_ARM, "arm", "", "armbe", ""},
    MachineName{EM_PPC64, "", "ppc64le", "", "ppc64"},
    MachineName{EM_PPC, "ppcle", "", "ppc", ""},
    MachineName{EM_S390, "", "", "s390", "s390x"},
    MachineName{EM_RISCV, "riscv", "riscv64", "", ""},
    MachineName{EM_MIPS, "mipsle", "mips64le", "mips", "mips64"},
    MachineName{kEmLoongArch, "loong32", "loong64", "", ""},
    MachineName{EM_SPARC, "", "", "sparc", ""},
    MachineName{EM_SPARCV9, "", "", "", "sparc64"},
    MachineName{EM_IA_64, "", "ia64", "", ""},
    MachineName{EM_BPF, "", "bpf", "", "bpf"},
};

std::string ArchitectureOf(uint16_t machine, int bits, bool big_endian) {
  for (const MachineName& one : kMachines) {
    if (one.machine != machine) continue;
    std::string_view name = bits == 32 ? (big_endian ? one.big32 : one.little32)
                                       : (big_endian ? one.big64 : one.little64);
    if (!name.empty()) return std::string(name);
  }
  return "machine " + std::to_string(machine);
}

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The level of GNU_PROPERTY_X86_ISA_1_NEEDED in the notes; 0 without one.
int Amd64Level(std::string_view notes, uint64_t alignment) {
  constexpr size_t kNoteHeader = 12;  // namesz, descsz, type
  uint64_t at = 0;
  while (true) {
    std::optional<uint64_t> name_size = NumberAt(notes, at, 4, false);
    std::optional<uint64_t> size = NumberAt(notes, at + 4, 4, false);
    std::optional<uint64_t> type = NumberAt(notes, at + 8, 4, false);
    if (!type) return 0;
    std::optional<std::string_view> name = BytesAt(notes, at + kNoteHeader, *name_size);
    const uint64_t content = RoundUp(at + kNoteHeader + *name_size, alignment);
    std::optional<std::string_view> properties = BytesAt(notes, content, *size);
    if (!name || !properties) return 0;
    at = RoundUp(content + *size, alignment);
    if (*type != kNtGnuProperty || *name != std::string_view("GNU\0", 4)) continue;
    for (uint64_t offset = 0;;) {
      std::optional<uint64_t> property = NumberAt(*properties, offset, 4, false);
      std::optional<uint64_t> bytes = NumberAt(*properties, offset + 4, 4, false);
      if (!bytes) break;
      if (*property == kX86Isa1Needed) {
        const uint64_t needed = NumberAt(*properties, offset + 8, 4, false).value_or(0);
        for (int level = 4; level >= 1; --level) {
          if ((needed >> (level - 1) & 1) != 0) return level;
        }
      }
      offset = RoundUp(offset + 8 + *bytes, alignment);
    }
  }
}

BinaryFormat BadElf(std::string problem) {
  BinaryFormat format;
  format.kind = BinaryFormat::Kind::kBadElf;
  format.problem = std::move(problem);
  return format;
}

BinaryFormat ReadElf(std::string_view head, std::optional<uint64_t> file_size) {
  if (head.size() < EI_NIDENT) return BadElf("the ELF header is incomplete");
  const auto elf_class = static_cast<unsigned char>(head[EI_CLASS]);
  const auto data = static_cast<unsigned char>(head[EI_DATA]);
  if (elf_class != ELFCLASS32 && elf_class != ELFCLASS64) return BadElf("unknown ELF class");
  if (data != ELFDATA2LSB && data != ELFDATA2MSB) return BadElf("unknown ELF byte order");
  const Layout& layout = elf_class == ELFCLASS32 ? k32 : k64;
  if (head.size() < layout.header_bytes) return BadElf("the ELF header is incomplete");

  const bool big = data == ELFDATA2MSB;
  auto number = [&](uint64_t offset, size_t size) { return NumberAt(head, offset, size, big); };
  BinaryFormat format;
  format.kind = BinaryFormat::Kind::kElf;
  ElfFormat& elf = format.elf;
  elf.bits = elf_class == ELFCLASS32 ? 32 : 64;
  elf.big_endian = big;
  elf.type = static_cast<uint16_t>(*number(offsetof(Elf64_Ehdr, e_type), 2));
  elf.machine = static_cast<uint16_t>(*number(offsetof(Elf64_Ehdr, e_machine), 2));
  elf.architecture = ArchitectureOf(elf.machine, elf.bits, big);

  const uint64_t table = *number(layout.phoff, layout.word);
  const uint64_t count = *number(layout.phnum, 2);
  // Relocatable files have no program headers, and no kernel runs them: RunsOn().
  if (elf.type != ET_EXEC && elf.type != ET_DYN) return format;
  if (count == 0) return BadElf("no program headers");
  if (*number(layout.phentsize, 2) != layout.entry_bytes)
    return BadElf("program headers of another size");
  const uint64_t table_bytes = count * layout.entry_bytes;
  if (table_bytes > kMaxProgramHeaderBytes) return BadElf("too many program headers");
  if (file_size && (table > *file_size || *file_size - table < table_bytes))
    return BadElf("program headers beyond the end of the file");
  // In the file, but not in the given bytes: nothing more is known.
  if (table > head.size()) return format;

  int note_segments = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t entry = table + i * layout.entry_bytes;
    std::optional<uint64_t> type = number(entry, 4);
    std::optional<uint64_t> offset = number(entry + layout.p_offset, layout.word);
    std::optional<uint64_t> size = number(entry + layout.p_filesz, layout.word);
    std::optional<uint64_t> alignment = number(entry + layout.p_align, layout.word);
    if (!type || !offset || !size || !alignment) break;
    if (*type == PT_LOAD) elf.page_alignment = std::max(elf.page_alignment, *alignment);
    if (*type == PT_INTERP) {
      if (*size < 2 || *size > kMaxInterpreterBytes)
        return BadElf("the interpreter's path has a wrong size");
      std::optional<std::string_view> path = BytesAt(head, *offset, *size);
      if (path && path->back() != '\0') return BadElf("the interpreter's path has no end");
      if (path && elf.interpreter.empty()) elf.interpreter = path->substr(0, path->find('\0'));
    }
    const bool has_notes = *type == PT_NOTE || *type == kPtGnuProperty;
    if (has_notes && elf.machine == EM_X86_64 && !big && ++note_segments <= kMaxNoteSegments) {
      std::optional<std::string_view> notes =
          BytesAt(head, *offset, std::min<uint64_t>(*size, kMaxNoteBytes));
      // Property notes are aligned as words are, others to 4 bytes.
      if (notes) {
        const uint64_t align = *type == kPtGnuProperty || *alignment == 8 ? layout.word : 4;
        elf.amd64_level = std::max(elf.amd64_level, Amd64Level(*notes, align));
      }
    }
  }
  return format;
}

// As fs/binfmt_script.c reads the line.
BinaryFormat ReadScript(std::string_view head) {
  BinaryFormat format;
  format.kind = BinaryFormat::Kind::kOther;
  std::string_view line = head.substr(2, kScriptLineBytes - 2);
  const bool is_cut = head.size() >= kScriptLineBytes;
  const size_t end = line.find('\n');
  const bool has_end = end != std::string_view::npos;
  if (has_end) line = line.substr(0, end);
  constexpr std::string_view kBlank = " \t";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos || line[begin] == '\0') {
    format.problem = "#! without an interpreter";
    return format;
  }
  line.remove_prefix(begin);
  const size_t path_end = line.find_first_of(std::string_view(" \t\0", 3));
  if (path_end == std::string_view::npos && !has_end && is_cut) {
    format.problem = "the interpreter's path does not end in the first 256 bytes";
    return format;
  }
  format.kind = BinaryFormat::Kind::kScript;
  format.interpreter = line.substr(0, path_end);
  if (path_end == std::string_view::npos || line[path_end] == '\0') return format;
  line.remove_prefix(path_end);
  line = line.substr(0, line.find('\0'));
  const size_t argument = line.find_first_not_of(kBlank);
  if (argument == std::string_view::npos) return format;
  format.argument = line.substr(argument, line.find_last_not_of(kBlank) + 1 - argument);
  return format;
}

bool IsMachO(std::string_view head) {
  for (std::string_view magic : {"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
                                 "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbf"}) {
    if (head.starts_with(magic)) return true;
  }
  // Also the magic of Java's classes, whose next number is a version above 43.
  constexpr uint64_t kMaxArchitectures = 43;
  return head.starts_with("\xca\xfe\xba\xbe") &&
         NumberAt(head, 4, 4, true).value_or(kMaxArchitectures) < kMaxArchitectures;
}

}  // namespace

BinaryFormat ReadBinaryFormat(std::string_view head, std::optional<uint64_t> file_size) {
  head = head.substr(0, kMaxHeadBytes);
  BinaryFormat format;
  if (head.empty()) return format;
  if (head.starts_with(ELFMAG)) return ReadElf(head, file_size);
  if (head.starts_with("#!")) return ReadScript(head);
  format.kind = head.starts_with("MZ") ? BinaryFormat::Kind::kPe
                : IsMachO(head)        ? BinaryFormat::Kind::kMachO
                                       : BinaryFormat::Kind::kOther;
  return format;
}

RunVerdict RunsOn(const BinaryFormat& format, std::string_view architecture) {
  if (format.kind == BinaryFormat::Kind::kScript) return RunVerdict::kMaybe;
  if (format.kind != BinaryFormat::Kind::kElf) return RunVerdict::kNo;
  const ElfFormat& elf = format.elf;
  if (elf.type != ET_EXEC && elf.type != ET_DYN) return RunVerdict::kNo;
  if (elf.architecture == architecture) return RunVerdict::kYes;
  // 32-bit programs on the 64-bit kernel of the same family.
  struct Compatible {
    std::string_view kernel, file;
    RunVerdict verdict;
  };
  static constexpr std::array kCompatible = {
      Compatible{"amd64", "386", RunVerdict::kYes},  // in every distribution's kernel
      Compatible{"amd64", "amd64p32", RunVerdict::kMaybe},
      Compatible{"arm64", "arm", RunVerdict::kMaybe},  // some CPUs have no 32-bit mode
      Compatible{"arm64be", "armbe", RunVerdict::kMaybe},
      Compatible{"s390x", "s390", RunVerdict::kMaybe},
      Compatible{"ppc64", "ppc", RunVerdict::kMaybe},
      Compatible{"ppc64le", "ppcle", RunVerdict::kMaybe},
      Compatible{"riscv64", "riscv", RunVerdict::kMaybe},
      Compatible{"mips64", "mips", RunVerdict::kMaybe},
      Compatible{"mips64le", "mipsle", RunVerdict::kMaybe},
      Compatible{"sparc64", "sparc", RunVerdict::kMaybe},
  };
  for (const Compatible& one : kCompatible) {
    if (one.kernel == architecture && one.file == elf.architecture) return one.verdict;
  }
  return RunVerdict::kNo;
}

std::vector<uint64_t> PagesTooLarge(const BinaryFormat& format, std::string_view architecture) {
  std::vector<uint64_t> pages;
  if (format.kind != BinaryFormat::Kind::kElf || format.elf.architecture != architecture ||
      format.elf.page_alignment == 0) {
    return pages;
  }
  if (architecture == "arm64" && format.elf.page_alignment < k16KiB) pages.push_back(k16KiB);
  if ((architecture == "arm64" || architecture == "ppc64le") &&
      format.elf.page_alignment < k64KiB) {
    pages.push_back(k64KiB);
  }
  return pages;
}

std::string Describe(const BinaryFormat& format) {
  switch (format.kind) {
    case BinaryFormat::Kind::kEmpty:
      return "empty file";
    case BinaryFormat::Kind::kElf:
      return "ELF " + std::to_string(format.elf.bits) + "-bit " + format.elf.architecture;
    case BinaryFormat::Kind::kBadElf:
      return "broken ELF file: " + format.problem;
    case BinaryFormat::Kind::kScript:
      return "script of " + format.interpreter;
    case BinaryFormat::Kind::kPe:
      return "program for Windows (PE)";
    case BinaryFormat::Kind::kMachO:
      return "program for macOS (Mach-O)";
    case BinaryFormat::Kind::kOther:
      return format.problem.empty() ? "no program" : "no program: " + format.problem;
  }
  return "no program";
}

}  // namespace exec_format
