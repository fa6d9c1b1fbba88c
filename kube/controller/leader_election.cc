// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/leader_election.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "kube/base/random.h"
#include "kube/codec/codec.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using coordination::Lease;

constexpr Duration kReleaseTimeout = 3s;
// Between two attempts of one renewal after a conflict with another writer; up to twice as long.
constexpr Duration kConflictRetry = 10ms;
// Poll interval of `able`, which makes no call.
constexpr Duration kAbleRetry = 200ms;
// Upper bound of the duration in a Lease, which other clients may write.
constexpr std::chrono::seconds kLongestDuration = 60s;
// client-go's JitterFactor: candidates wait between one and 2.2 retry periods.
constexpr double kJitter = 1.2;

void SetTime(meta::Time& out, WallTime time) {
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  out.set_seconds(micros / 1s);
  out.set_nanos(static_cast<int32_t>((micros % 1s) / 1ns));
}

}  // namespace

std::string LeaseIdentity() {
  const char* pod = std::getenv("POD_NAME");
  if (pod != nullptr && *pod != '\0') return pod;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return std::string(host) + "_" + std::to_string(getpid());
}

LeaderElector::LeaderElector(Client& client, Clock& clock, LeaseOptions options)
    : client_(client), clock_(clock), options_(std::move(options)), random_(RandomSeed()) {}

Async<> LeaderElector::Acquire() {
  LOG(INFO) << "lease " << options_.ns << "/" << options_.name << ": waiting for leadership as "
            << options_.identity;
  std::string last_holder;
  bool was_able = true;
  while (true) {
    Result<void> able = Able();
    if (!able) {
      LOG_IF(WARNING, was_able) << "lease " << options_.ns << "/" << options_.name
                                << ": not acquired: " << able.error();
      was_able = false;
      Result<> slept = co_await clock_.Sleep(kAbleRetry);
      if (!slept) co_return slept.error();
      continue;
    }
    was_able = true;
    Result<bool> held = co_await TryAcquireOrRenew(clock_.Now() + options_.renew_deadline);
    if (!held && held.error().code() == Code::kCancelled) co_return held.error();
    LOG_IF(WARNING, !held) << "lease " << options_.ns << "/" << options_.name << ": "
                           << held.error();
    if (held && *held) break;
    if (held && holder() != last_holder) {
      last_holder = holder();
      LOG(INFO) << "lease " << options_.ns << "/" << options_.name << ": held by " << last_holder;
    }
    std::uniform_real_distribution<double> chance(1.0, 1.0 + kJitter);
    Duration delay = std::chrono::duration_cast<Duration>(options_.retry * chance(random_));
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return slept.error();
  }
  SetLeader(true);
  co_return Ok();
}

Async<> LeaderElector::Hold() {
  bool failed = false;
  while (leader_) {
    TimePoint deadline = renewed_at_ + options_.renew_deadline;
    Result<> slept = co_await clock_.SleepUntil(std::min(clock_.Now() + options_.retry, deadline));
    if (!slept) co_return slept.error();
    if (!leader_)
      co_return Error::Cancelled("lease " + options_.ns + "/" + options_.name + " was released");
    Result<void> able = Able();
    if (!able) co_return able.error();
    bool due = failed || Busy() || clock_.Now() >= renewed_at_ + options_.renew_every;
    if (!due) continue;
    Result<bool> held = co_await TryAcquireOrRenew(std::max(deadline, clock_.Now() + 1ms));
    failed = !held;
    if (held && *held) continue;
    if (!held && held.error().code() == Code::kCancelled) co_return held.error();
    if (held) {
      SetLeader(false);
      co_return Error::Conflict("lease " + options_.ns + "/" + options_.name + " was taken by " +
                                holder());
    }
    LOG(WARNING) << "lease " << options_.ns << "/" << options_.name
                 << ": not renewed: " << held.error();
    if (clock_.Now() >= deadline) SetLeader(false);
  }
  co_return Error::DeadlineExceeded("lease " + options_.ns + "/" + options_.name +
                                    " was not renewed in time");
}

Async<> LeaderElector::Release() {
  co_await ForgetCancellation();
  co_await IgnoreCancellation();
  if (!leader_ || !observed_) co_return Ok();
  SetLeader(false);
  Lease lease = *observed_;
  lease.mutable_spec()->set_holder_identity("");
  lease.mutable_spec()->set_lease_duration_seconds(1);
  SetTime(*lease.mutable_spec()->mutable_renew_time(), clock_.WallNow());
  SetTime(*lease.mutable_spec()->mutable_acquire_time(), clock_.WallNow());
  Result<Lease> written =
      co_await Send(Method::kPut, std::move(lease), clock_.Now() + kReleaseTimeout);
  if (!written) co_return written.error().Prefix("release lease");
  Observe(*written);
  co_return Ok();
}

Async<bool> LeaderElector::TryAcquireOrRenew(TimePoint deadline) {
  co_await IgnoreCancellation();
  bool cancelled = co_await IsCancelled();
  if (cancelled) co_return Error::Cancelled("lease");

  // The leader renews without reading the Lease first; it reads only if that fails.
  if (leader()) {
    Result<Lease> renewed = co_await Write(observed_, deadline);
    if (renewed) co_return true;
    if (renewed.error().code() == Code::kCancelled) co_return renewed.error();
  }

  // Only another holder ends leadership. Other writers may cause any number of conflicts.
  while (true) {
    Result<bool> taken = co_await ReadHeldByAnother(deadline);
    if (!taken) co_return taken.error();
    if (*taken) co_return false;
    Result<Lease> written = co_await Write(observed_, deadline);
    if (written) co_return true;
    bool raced = FailedWith(written, Code::kConflict) || FailedWith(written, Code::kAlreadyExists);
    if (!raced || clock_.Now() >= deadline) co_return written.error();
    std::uniform_real_distribution<double> chance(1.0, 2.0);
    Duration delay = std::chrono::duration_cast<Duration>(kConflictRetry * chance(random_));
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return slept.error();
  }
}

Async<bool> LeaderElector::ReadHeldByAnother(TimePoint deadline) {
  ApiRequest get{.target = ResourceOf<Lease>::value.Path(options_.ns, options_.name),
                 .accept = std::string(kProtobuf),
                 .timeout = CallTimeout(deadline)};
  Result<ApiResponse> response = co_await client_.Call(std::move(get));
  if (IsNotFound(response)) {
    observed_.reset();
    co_return false;
  }
  if (!response) co_return response.error();
  Result<Lease> lease = Decode<Lease>(response->body);
  if (!lease) co_return lease.error();
  Observe(*lease);
  co_return HeldByAnother();
}

std::chrono::milliseconds LeaderElector::CallTimeout(TimePoint deadline) const {
  Duration half = (options_.renew_deadline - options_.renew_every) / 2;
  Duration left = std::min(deadline - clock_.Now(), half);
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(1));
}

Async<Lease> LeaderElector::Write(std::optional<Lease> current, TimePoint deadline) {
  Method method = current ? Method::kPut : Method::kPost;
  Lease lease = current ? std::move(*current) : Lease();
  lease.mutable_metadata()->set_namespace_(options_.ns);
  lease.mutable_metadata()->set_name(options_.name);
  if (options_.owner && method == Method::kPost)
    *lease.mutable_metadata()->add_owner_references() = *options_.owner;
  coordination::LeaseSpec& spec = *lease.mutable_spec();
  WallTime now = clock_.WallNow();
  TimePoint sent_at = clock_.Now();
  if (spec.holder_identity() != options_.identity) {
    bool full = spec.lease_transitions() == std::numeric_limits<int32_t>::max();
    spec.set_lease_transitions(method == Method::kPut && !full ? spec.lease_transitions() + 1 : 0);
    SetTime(*spec.mutable_acquire_time(), now);
  }
  spec.set_holder_identity(options_.identity);
  spec.set_lease_duration_seconds(static_cast<int32_t>(options_.duration.count()));
  SetTime(*spec.mutable_renew_time(), now);
  Result<Lease> written = co_await Send(method, std::move(lease), deadline);
  if (!written) co_return written.error();
  renewed_at_ = sent_at;
  Observe(*written);
  co_return written;
}

Async<Lease> LeaderElector::Send(Method method, Lease lease, TimePoint deadline) {
  std::string name = method == Method::kPut ? options_.name : "";
  ApiRequest request{.method = method,
                     .target = ResourceOf<Lease>::value.Path(options_.ns, name),
                     .content_type = std::string(kProtobuf),
                     .accept = std::string(kProtobuf),
                     .body = Encode(lease),
                     .timeout = CallTimeout(deadline)};
  Result<ApiResponse> response = co_await client_.Call(std::move(request));
  if (!response) co_return response.error();
  co_return Decode<Lease>(response->body);
}

void LeaderElector::Observe(const Lease& lease) {
  if (!observed_ || observed_->spec().SerializeAsString() != lease.spec().SerializeAsString())
    observed_at_ = clock_.Now();
  observed_ = lease;
}

bool LeaderElector::HeldByAnother() const {
  const std::string& holder = observed_->spec().holder_identity();
  if (holder.empty() || holder == options_.identity) return false;
  std::chrono::seconds duration(observed_->spec().lease_duration_seconds());
  return clock_.Now() < observed_at_ + std::min(duration, kLongestDuration);
}

void LeaderElector::SetLeader(bool leader) {
  if (leader_ == leader) return;
  leader_ = leader;
  LOG(INFO) << "lease " << options_.ns << "/" << options_.name << ": "
            << (leader ? "acquired leadership" : "no longer the leader");
  if (options_.on_change) options_.on_change(leader);
}

}  // namespace kube
