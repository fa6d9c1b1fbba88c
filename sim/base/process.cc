// SPDX-License-Identifier: Apache-2.0
#include "sim/base/process.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>
#include <vector>

namespace sim {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// --shutdown-grace.
constexpr kube::Duration kGrace = 25s;

// Reachable, so that no leak is reported.
std::vector<std::unique_ptr<Life>>& Graveyard() {
  static auto& lives = *new std::vector<std::unique_ptr<Life>>;
  return lives;
}

}  // namespace

Life::Life(Loop& loop, kube::Duration grace)
    : lane_(loop.NewLane()), clock_(loop, *lane_), app_(lane_->io(), clock_, grace) {}

Process::Process(Loop& loop, std::string name, Main main, NewClient new_client)
    : loop_(loop),
      name_(std::move(name)),
      main_(std::move(main)),
      new_client_(std::move(new_client)) {}

void Process::Start() {
  Kill();
  outcome_.reset();
  life_ = std::make_unique<Life>(loop_, kGrace);
  life_->client_ = new_client_(*life_);
  lives_.push_back(life_.get());
  auto ended = [this](std::exception_ptr failure, kube::Result<> outcome) {
    if (failure) std::rethrow_exception(failure);
    outcome_ = std::move(outcome);
    // Remaining tasks use objects of the main function, which do not exist any more.
    Kill();
  };
  asio::co_spawn(life_->lane_->io(), main_(*life_),
                 asio::bind_cancellation_slot(life_->stop_.slot(), std::move(ended)));
  life_->lane_->Wake();
}

void Process::Stop() {
  if (!life_ || life_->app_.stopping()) return;
  life_->app_.BeginStop();
  asio::post(life_->lane_->io(),
             [life = life_.get()] { life->stop_.emit(asio::cancellation_type::terminal); });
  life_->lane_->Wake();
}

void Process::Kill() {
  if (!life_) return;
  life_->ended_ = true;
  life_->lane_->Hold(true);
  life_->client_->Cut();
  life_->clock_.Stop();
  Life& ended = *life_;
  Graveyard().push_back(std::move(life_));
  for (const auto& happen : ended.on_end_) happen();
}

void Process::Pause() {
  if (life_) life_->lane_->Hold(true);
}

void Process::Resume() {
  if (life_) life_->lane_->Hold(false);
}

}  // namespace sim
