// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/program_finding.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "exec-format/binary/binary_format.h"

namespace plugin {
namespace {

using exec_format::BinaryFormat;
using exec_format::FileOutcome;
using exec_format::FoundFile;
using exec_format::ImageFile;
using kube::Json;

std::string DescribeAlignment(uint64_t bytes) {
  constexpr uint64_t kKiB = 1024;
  if (bytes == 0) return "";
  return bytes % kKiB == 0 ? std::to_string(bytes / kKiB) + " KiB" : std::to_string(bytes) + " B";
}

std::string LevelName(int level) { return level == 0 ? "" : "x86-64-v" + std::to_string(level); }

std::string FindingOf(const VariantProgram& program, const Promise& promise) {
  if (!program.file) return program.error;
  const ImageFile& file = *program.file;
  if (file.outcome != FileOutcome::kFound) {
    return std::string(exec_format::Describe(file.outcome)) +
           (file.about.empty() ? "" : ": " + file.about);
  }
  const BinaryFormat& format = file.program().format;
  if (exec_format::RunsOn(format, promise.architecture) == exec_format::RunVerdict::kNo)
    return "does not run on " + promise.architecture + ": " + exec_format::Describe(format);
  const std::vector<uint64_t> pages = exec_format::PagesTooLarge(format, promise.architecture);
  std::string text;
  for (uint64_t size : pages) text += (text.empty() ? "" : " or ") + DescribeAlignment(size);
  if (!text.empty()) return "may not run on kernels with pages of " + text;
  // Level 1 is that of every amd64.
  if (format.elf.amd64_level > 1 && format.elf.amd64_level > promise.amd64_level)
    return "needs " + LevelName(format.elf.amd64_level) + ", which its platform does not say";
  return "";
}

}  // namespace

Promise PromiseOfPlatform(std::string_view platform) {
  auto next = [&] {
    const size_t end = platform.find('/');
    std::string part(platform.substr(0, end));
    platform.remove_prefix(end == std::string_view::npos ? platform.size() : end + 1);
    return part;
  };
  Promise promise;
  promise.os = next();
  promise.architecture = next();
  const std::string variant = next();
  const bool is_level = promise.architecture == "amd64" && variant.size() == 2 &&
                        variant[0] == 'v' && variant[1] >= '2' && variant[1] <= '4';
  if (is_level) promise.amd64_level = variant[1] - '0';
  return promise;
}

bool NeverStarts(const VariantProgram& program, const Promise& promise) {
  if (!program.file) return false;
  switch (program.file->outcome) {
    case FileOutcome::kFound:
      return exec_format::RunsOn(program.file->program().format, promise.architecture) ==
             exec_format::RunVerdict::kNo;
    case FileOutcome::kNotFound:
    case FileOutcome::kHidden:
    case FileOutcome::kLinkLoop:
    case FileOutcome::kNotExecutable:
    case FileOutcome::kTooManyInterpreters:
      return true;
    // A container may name its own command.
    case FileOutcome::kNoCommand:
    case FileOutcome::kTooManyBytes:
    case FileOutcome::kUnsupportedLayer:
      break;
  }
  return false;
}

ProgramRow RowOf(const VariantProgram& program, const Promise& promise) {
  ProgramRow row{.finding = FindingOf(program, promise)};
  if (!program.file || program.file->files.empty()) return row;
  for (const FoundFile& file : program.file->files)
    row.program += (row.program.empty() ? "" : ", ") + file.path;
  const BinaryFormat& format = program.file->program().format;
  const bool is_elf = format.kind == BinaryFormat::Kind::kElf;
  row.machine = is_elf ? format.elf.architecture : exec_format::Describe(format);
  row.alignment = DescribeAlignment(format.elf.page_alignment);
  row.level = LevelName(format.elf.amd64_level);
  return row;
}

Json AsJson(const VariantProgram& program, const Promise& promise) {
  Json json = Json::object();
  const std::string finding = FindingOf(program, promise);
  if (!finding.empty()) json["finding"] = finding;
  if (!program.file) return json;
  json["bytesRead"] = program.file->bytes_read;
  json["files"] = Json::array();
  for (const FoundFile& file : program.file->files)
    json["files"].push_back({{"path", file.path}, {"layer", file.layer}});
  if (program.file->files.empty()) return json;
  const BinaryFormat& format = program.file->program().format;
  json["format"] = exec_format::Describe(format);
  if (format.kind != BinaryFormat::Kind::kElf) return json;
  json["machine"] = format.elf.architecture;
  json["bits"] = format.elf.bits;
  if (format.elf.page_alignment > 0) json["pageAlignment"] = format.elf.page_alignment;
  if (format.elf.amd64_level > 0) json["amd64Level"] = format.elf.amd64_level;
  if (!format.elf.interpreter.empty()) json["loader"] = format.elf.interpreter;
  return json;
}

}  // namespace plugin
