// SPDX-License-Identifier: Apache-2.0
// inspection: many pods with few images against a slow registry. Measures the time until the
// architectures of every pod are known, the requests and the memory. The registry is a separate
// process.
//
//   bazel run //benchmarks/inspection -- --pods=10000 --images=500 --latency_ms=100
#include <fcntl.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cluster-controller/inspection_queue.h"
#include "e2e/cluster_harness/process_cost.h"
#include "inspection/inspector.h"
#include "inspection/testing/fake_registry.h"
#include "kube/base/clock.h"
#include "kube/base/spawn.h"
#include "kube/base/task_group.h"

DEFINE_int32(pods, 10'000, "Pods to inspect.");
DEFINE_int32(images, 500, "Images that the pods share.");
DEFINE_int32(latency_ms, 100, "Of each response of the registry.");
DEFINE_int32(single_percent, 50, "Share of images with one architecture, which need two requests.");
DEFINE_bool(registry, false, "Run the registry; the benchmark starts itself with this flag.");

namespace {

namespace asio = boost::asio;

std::string ImageName(int number) { return "team/app" + std::to_string(number); }

e2e::ProcessCost Cost() {
  auto cost = e2e::CostOf(getpid());
  CHECK(cost) << cost.error();
  return *cost;
}

// The registry: writes its host to `out` and serves until `stop` is closed. Then writes the number
// of requests and the maximum for one path.
int ServeRegistry(int out, int stop) {
  asio::io_context io;
  inspection::FakeRegistry registry(io.get_executor(),
                                    {.latency = std::chrono::milliseconds(FLAGS_latency_ms)});
  for (int i = 0; i < FLAGS_images; ++i) {
    if (i % 100 < FLAGS_single_percent) {
      registry.PutImage(ImageName(i), "1", {"linux", i % 2 == 0 ? "amd64" : "arm64"});
    } else {
      registry.PutIndex(ImageName(i), "1", {{"linux", "amd64"}, {"linux", "arm64"}});
    }
  }
  dprintf(out, "%s\n", registry.host().c_str());
  asio::posix::stream_descriptor stopped(io, stop);
  char byte;
  stopped.async_read_some(asio::buffer(&byte, 1), [&](auto, size_t) { io.stop(); });
  io.run();
  std::map<std::string, int> counts;
  int most = 0;
  for (const std::string& line : registry.log()) most = std::max(most, ++counts[line]);
  dprintf(out, "%zu %d\n", registry.log().size(), most);
  return 0;
}

std::string ReadLine(int in) {
  std::string line;
  for (char c; read(in, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

int Measure(const std::string& host, int in, int stop) {
  asio::io_context io;
  kube::Clock& clock = kube::RealClock();
  unsigned long long requests = 0;
  inspection::InspectorOptions options;
  options.trace = [&](const std::string& line) { requests += line.find("/v2/") != line.npos; };
  auto inspector = inspection::NewImageInspector(io.get_executor(), clock, options);
  inspection::InspectorConfig config;
  config.registries_conf = "[[registry]]\nlocation = \"" + host + "\"\ninsecure = true\n";
  CHECK(inspector->SetConfig(config));
  kube::Metrics metrics;
  cluster_controller::PlacementMetrics counted(metrics);
  kube::TaskGroup tasks(io.get_executor());
  cluster_controller::InspectionQueue queue(*inspector, clock, tasks, counted);

  e2e::ProcessCost before = Cost();
  auto begun = std::chrono::steady_clock::now();
  std::vector<double> waits;
  int failed = 0;
  auto ask = [&](int pod) {
    inspection::ImageRequest request{.image = host + "/" + ImageName(pod % FLAGS_images) + ":1"};
    kube::ObjectKey key{"ns", std::to_string(pod)};
    auto answer = queue.Submit(key, request);
    if (!answer) return;
    queue.Forget(key);
    if (!*answer && failed++ == 0) LOG(WARNING) << answer->error();
    waits.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  };
  queue.OnResult([&](const kube::ObjectKey& pod) {
    asio::post(io, [&ask, pod] { ask(std::stoi(pod.name)); });
  });
  for (int pod = 0; pod < FLAGS_pods; ++pod) ask(pod);
  e2e::ProcessCost all_waiting = Cost();
  while (waits.size() < static_cast<size_t>(FLAGS_pods) && io.run_one() > 0) {
  }
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  e2e::ProcessCost after = Cost();
  double cpu = std::chrono::duration<double>(after.cpu - before.cpu).count();

  close(stop);
  std::string counts = ReadLine(in);
  int most = std::stoi(counts.substr(counts.find(' ') + 1));
  std::printf(
      "%d pods of %d images, registry with %d ms: all known after %.2f s, half after %.2f s; %d "
      "failed\n",
      FLAGS_pods, FLAGS_images, FLAGS_latency_ms, took, waits[waits.size() / 2], failed);
  std::printf("requests: %llu sent, %s received by the registry, at most %d for one path\n",
              requests, counts.substr(0, counts.find(' ')).c_str(), most);
  std::printf("CPU: %.3f s, %.3f ms a pod\n", cpu, 1000 * cpu / FLAGS_pods);
  std::printf("memory: %ld KB before, %ld KB with every pod waiting, %ld KB at most\n",
              before.rss_kb, all_waiting.rss_kb, after.peak_rss_kb);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  kube::SpawnOptions options{.argv = {"/proc/self/exe"}};
  options.argv.insert(options.argv.end(), argv + 1, argv + argc);
  options.argv.push_back("--registry");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  if (FLAGS_registry) return ServeRegistry(STDOUT_FILENO, STDIN_FILENO);
  int from_registry[2], to_registry[2];
  CHECK(pipe2(from_registry, O_CLOEXEC) == 0 && pipe2(to_registry, O_CLOEXEC) == 0);
  options.input = to_registry[0];
  options.output = from_registry[1];
  kube::Result<pid_t> registry = kube::Spawn(options);
  CHECK(registry) << registry.error();
  close(to_registry[0]);
  close(from_registry[1]);
  int code = Measure(ReadLine(from_registry[0]), from_registry[0], to_registry[1]);
  waitpid(*registry, nullptr, 0);
  return code;
}
