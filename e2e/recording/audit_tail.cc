// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/audit_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace e2e {

AuditTail::~AuditTail() {
  if (file_ >= 0) ::close(file_);
}

void AuditTail::Read(const std::function<void(std::string_view line)>& on_line) {
  while (true) {
    // In this order: nothing is appended to a log that was renamed.
    const bool replaced = IsReplaced();
    if (file_ >= 0) ReadOpened(on_line);
    if (!replaced || !Open()) return;
  }
}

bool AuditTail::IsReplaced() const {
  struct stat at_path {};
  return ::stat(path_.c_str(), &at_path) == 0 && (file_ < 0 || at_path.st_ino != inode_);
}

void AuditTail::ReadOpened(const std::function<void(std::string_view line)>& on_line) {
  static constexpr size_t kBlock = 256 * 1024;
  while (true) {
    size_t size = rest_.size();
    rest_.resize(size + kBlock);
    ssize_t got = ::read(file_, rest_.data() + size, kBlock);
    rest_.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got <= 0) return;
    size_t begin = 0;
    for (size_t end = rest_.find('\n', size); end != std::string::npos;
         end = rest_.find('\n', begin)) {
      on_line(std::string_view(rest_).substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
  }
}

bool AuditTail::Open() {
  int next = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (next < 0) return false;
  struct stat opened {};
  if (::fstat(next, &opened) != 0) {
    ::close(next);
    return false;
  }
  if (file_ >= 0) ::close(file_);
  file_ = next;
  inode_ = opened.st_ino;
  rest_.clear();  // a line that its writer has never ended
  return true;
}

}  // namespace e2e
