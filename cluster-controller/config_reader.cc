// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/config_reader.h"

#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "kube/client/typed.h"

namespace cluster_controller {

using kube::Async;
using kube::Result;
namespace asio = boost::asio;

namespace {

// Above this many namespaces the idle ones are forgotten; what they hold is only the time of their last list.
constexpr size_t kMaxIdleLanes = 1024;

}  // namespace

// One list and those who wait for it. The timer never expires: cancelling it wakes the waiters.
struct ConfigReader::Round {
  explicit Round(asio::any_io_executor executor) : done(std::move(executor), asio::steady_timer::time_point::max()) {}

  asio::steady_timer done;
  std::optional<Result<Configs>> result;
};

ConfigReader::ConfigReader(kube::Client& client, kube::Clock& clock, std::chrono::milliseconds spacing)
    : client_(client), clock_(clock), spacing_(spacing) {}

ConfigReader::~ConfigReader() = default;

Async<Configs> ConfigReader::Read(std::string ns) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await asio::this_coro::executor;

  std::shared_ptr<Round> round = lanes_[ns].open;
  if (round == nullptr) {
    // First in line: this caller runs the list, for itself and for all who join.
    round = std::make_shared<Round>(executor);
    lanes_[ns].open = round;
    Result<Configs> configs = co_await RunRound(std::move(ns), std::move(round));
    co_return configs;
  }
  while (!round->result) {
    auto waited = co_await round->done.async_wait(kube::kTuple);
    (void)waited;
    auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none) co_return kube::Error::Cancelled("list of " + ns);
  }
  co_return *round->result;
}

Async<Configs> ConfigReader::RunRound(std::string ns, std::shared_ptr<Round> round) {
  co_await kube::IgnoreCancellation();
  // Neither wait below ends early but by cancellation; then the list fails at once and says so to all who wait.
  if (std::shared_ptr<Round> before = lanes_[ns].running; before != nullptr) {
    auto waited = co_await before->done.async_wait(kube::kTuple);
    (void)waited;
  }
  kube::TimePoint rested_until = lanes_[ns].last_start + spacing_;
  auto rested = co_await clock_.SleepUntil(rested_until);
  (void)rested;

  lanes_[ns].open = nullptr;
  lanes_[ns].running = round;
  lanes_[ns].last_start = clock_.Now();
  kube::ListOptions options{.ns = ns};
  auto listed = co_await kube::List<api::PodPlacementConfig>(client_, std::move(options));
  if (listed) {
    round->result = std::make_shared<const std::vector<api::PodPlacementConfig>>(std::move(listed->items));
  } else {
    round->result = listed.error().Prefix("list the PodPlacementConfigs of " + ns);
  }
  if (lanes_[ns].running == round) lanes_[ns].running = nullptr;
  round->done.cancel();
  ForgetIdleLanes();
  co_return *round->result;
}

void ConfigReader::ForgetIdleLanes() {
  if (lanes_.size() <= kMaxIdleLanes) return;
  std::erase_if(lanes_, [](auto& lane) { return lane.second.open == nullptr && lane.second.running == nullptr; });
}

}  // namespace cluster_controller
