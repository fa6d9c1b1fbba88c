// SPDX-License-Identifier: Apache-2.0
// Throws damaged input at everything that reads untrusted text. The same inputs come in every run of the same length.
//
//   bazel test //inspection/fuzz:fuzz_test           the corpus, and a moment of damage
//   make fuzz                                        a minute for each target, guided by coverage, under ASan
//
// Guided: built with --config=fuzz, code that is reached calls us back; an input that reaches something new is damaged
// further, and with --keep it joins the corpus. An input that ends the process, or takes five seconds, is left in
// fuzz-NAME.input in the working folder.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "inspection/digest.h"
#include "inspection/fuzz/fuzz_targets.h"

DEFINE_string(corpus, "inspection/testdata/corpus", "Folder with a folder of inputs for each target.");
DEFINE_string(target, "", "Only this one; empty: all.");
DEFINE_double(seconds, 0.5, "Of damage, for each target.");
DEFINE_bool(keep, false, "Adds inputs that reach new code to the corpus.");

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr unsigned kStuckSeconds = 5;
constexpr size_t kMaxInput = 4096;
constexpr size_t kPlaces = 1u << 16;

// Places in the code that the current input has reached.
unsigned char g_reached[kPlaces];
bool g_recording = false;

std::string g_input;
std::string g_name;

void SaveInput() {
  std::ofstream("fuzz-" + g_name + ".input") << g_input;
  std::cerr << "the input is in fuzz-" << g_name << ".input\n";
}

void OnSignal(int signal) {
  std::cerr << "target " << g_name << ": signal " << signal << "\n";
  SaveInput();
  _exit(1);
}

}  // namespace

// What the compiler calls at every branch under --config=fuzz.
extern "C" __attribute__((no_sanitize_coverage, no_sanitize_address)) void __sanitizer_cov_trace_pc() {
  if (!g_recording) return;
  auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  g_reached[(place ^ (place >> 16)) % kPlaces] = 1;
}

namespace inspection {
namespace {

class Fuzzer {
 public:
  explicit Fuzzer(const FuzzTarget& target) : target_(target), folder_(FLAGS_corpus + "/" + target.name) {}

  void Run() {
    g_name = target_.name;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      inputs_.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    // The same order everywhere.
    std::sort(inputs_.begin(), inputs_.end());
    CHECK(!inputs_.empty()) << folder_ << " has no inputs";
    for (const std::string& input : inputs_) Try(input);

    size_t before = inputs_.size();
    uint64_t runs = 0;
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(FLAGS_seconds);
    while (std::chrono::steady_clock::now() < end) {
      for (int i = 0; i < 64; ++i, ++runs) {
        std::string input = Damaged();
        if (!Try(input)) continue;
        if (FLAGS_keep) std::ofstream(folder_ + "/" + Sha256Digest(input).substr(7, 16), std::ios::binary) << input;
        inputs_.push_back(std::move(input));
      }
    }
    std::cout << target_.name << ": " << runs << " runs, " << before << " inputs known, " << inputs_.size() - before
              << " found, " << places_ << " places reached\n";
  }

 private:
  // True if the input reached what none before did.
  bool Try(const std::string& input) {
    g_input = input;
    std::fill(std::begin(g_reached), std::end(g_reached), 0);
    alarm(kStuckSeconds);
    g_recording = true;
    target_.run(input);
    g_recording = false;
    alarm(0);
    bool found = false;
    for (size_t i = 0; i < kPlaces; ++i) {
      if (!g_reached[i] || known_[i]) continue;
      known_[i] = found = true;
      ++places_;
    }
    return found;
  }

  std::string Damaged() {
    using namespace std::string_view_literals;
    static constexpr std::string_view kSpice = "\"'\\{}[]()<>,;:=/.@*&%#!?|-_ \n\r\t\0\xff\xc3\xe2~+019azAZ"sv;
    std::string text = inputs_[Below(inputs_.size())];
    for (size_t changes = 1 + Below(6); changes > 0; --changes) {
      size_t at = text.empty() ? 0 : Below(text.size());
      switch (Below(7)) {
        case 0:
          if (!text.empty()) text[at] = kSpice[Below(kSpice.size())];
          break;
        case 1: text.insert(at, 1, kSpice[Below(kSpice.size())]); break;
        case 2: text.erase(at, 1 + Below(8)); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, text.substr(at, 1 + Below(40))); break;
        case 5: {
          // A piece of another one.
          const std::string& other = inputs_[Below(inputs_.size())];
          if (!other.empty()) text.insert(at, other.substr(Below(other.size()), 1 + Below(40)));
          break;
        }
        case 6: text.insert(at, std::string(1 + Below(300), kSpice[Below(kSpice.size())])); break;
      }
    }
    if (text.size() > kMaxInput) text.resize(kMaxInput);
    return text;
  }

  size_t Below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  const FuzzTarget& target_;
  std::string folder_;
  std::vector<std::string> inputs_;
  std::vector<bool> known_ = std::vector<bool>(kPlaces);
  size_t places_ = 0;
  std::mt19937 random_{20260101};
};

}  // namespace
}  // namespace inspection

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) ::signal(signal, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(SaveInput);
  bool any = false;
  for (const inspection::FuzzTarget& target : inspection::FuzzTargets()) {
    if (!FLAGS_target.empty() && FLAGS_target != target.name) continue;
    any = true;
    inspection::Fuzzer(target).Run();
  }
  CHECK(any) << "there is no target " << FLAGS_target;
  return 0;
}
