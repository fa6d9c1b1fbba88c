// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/registry_process.h"

#include <fcntl.h>
#include <gflags/gflags.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "inspection/testing/fake_registry.h"
#include "kube/base/spawn.h"

DEFINE_bool(serve_registry, false, "Only for the benchmark itself: serve a registry.");
DEFINE_int32(registry_latency_ms, 0, "With --serve_registry: of each response.");

namespace benchmarks {
namespace {

namespace asio = boost::asio;
using kube::Error;
using kube::Result;

std::string NameOf(int number) { return "team/app" + std::to_string(number); }

std::string ReadLine(int in) {
  std::string line;
  for (char c; read(in, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

Result<std::unique_ptr<RegistryProcess>> RegistryProcess::Start(std::chrono::milliseconds latency) {
  int from[2], to[2];
  if (pipe2(from, O_CLOEXEC) != 0 || pipe2(to, O_CLOEXEC) != 0)
    return Error::Unavailable("pipes for a registry");
  kube::SpawnOptions options{.argv = {"/proc/self/exe", "--serve_registry",
                                      "--registry_latency_ms=" + std::to_string(latency.count())}};
  options.input = to[0];
  options.output = from[1];
  Result<pid_t> pid = kube::Spawn(options);
  close(to[0]);
  close(from[1]);
  std::string host = pid ? ReadLine(from[0]) : "";
  close(from[0]);
  if (!pid) return pid.error().Prefix("start a registry");
  return std::unique_ptr<RegistryProcess>(new RegistryProcess(*pid, to[1], std::move(host)));
}

RegistryProcess::~RegistryProcess() {
  close(stop_);
  waitpid(pid_, nullptr, 0);
}

std::string RegistryProcess::Image(int number) const { return host_ + "/" + NameOf(number) + ":1"; }

bool ServedAsRegistry() {
  if (!FLAGS_serve_registry) return false;
  asio::io_context io;
  inspection::FakeRegistry registry(
      io.get_executor(), {.latency = std::chrono::milliseconds(FLAGS_registry_latency_ms)});
  for (int i = 0; i < kImagesOfRegistry; ++i)
    registry.PutIndex(NameOf(i), "1", {{"linux", "amd64"}, {"linux", "arm64"}});
  dprintf(STDOUT_FILENO, "%s\n", registry.host().c_str());
  asio::posix::stream_descriptor stopped(io, STDIN_FILENO);
  char byte;
  stopped.async_read_some(asio::buffer(&byte, 1), [&](auto, size_t) { io.stop(); });
  io.run();
  return true;
}

}  // namespace benchmarks
