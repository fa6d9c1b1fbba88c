// SPDX-License-Identifier: Apache-2.0
// AuditTail: reads the lines that an API server appends to its audit log, each once. A log that is
// rotated by renaming is read to its end first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace e2e {

class AuditTail {
 public:
  explicit AuditTail(std::string path) : path_(std::move(path)) {}
  ~AuditTail();
  AuditTail(const AuditTail&) = delete;
  AuditTail& operator=(const AuditTail&) = delete;

  // Calls `on_line` for each complete line since the last call, without its line end. A log that
  // does not exist yet has none.
  void Read(const std::function<void(std::string_view line)>& on_line);

 private:
  // Reads what the open file has.
  void ReadOpened(const std::function<void(std::string_view line)>& on_line);
  // Another file than the open one is at the path.
  bool IsReplaced() const;
  bool Open();

  const std::string path_;
  int file_ = -1;
  uint64_t inode_ = 0;
  // The beginning of a line whose end is not written yet.
  std::string rest_;
};

}  // namespace e2e
