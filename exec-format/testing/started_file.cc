// SPDX-License-Identifier: Apache-2.0
#include "exec-format/testing/started_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "exec-format/testing/make_elf.h"

namespace exec_format {

namespace fs = std::filesystem;

std::string WriteExecutable(const fs::path& folder, const std::string& name,
                            const std::string& content) {
  fs::create_directories(folder);
  fs::path path = folder / name;
  std::ofstream(path) << content;
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::string ForeignElf() { return MakeElf({.machine = EM_SH}); }

fs::path CgroupRoot() {
  for (const char* folder : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
    if (access((std::string(folder) + "/cgroup.procs").c_str(), W_OK) == 0) return folder;
  }
  return {};
}

int Start(const std::string& path, Call call, const fs::path& cgroup) {
  pid_t child = fork();
  if (child == 0) {
    if (!cgroup.empty()) std::ofstream(cgroup / "cgroup.procs") << getpid() << std::flush;
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    char* const environment[] = {nullptr};
    if (call == Call::kExecveat) {
      syscall(SYS_execveat, AT_FDCWD, path.c_str(), arguments, environment, 0);
    } else {
      execve(path.c_str(), arguments, environment);
    }
    _exit(errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

}  // namespace exec_format
