// SPDX-License-Identifier: Apache-2.0
#include "console/server/pages.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "console/access/read_client.h"
#include "console/answers/configs.h"
#include "console/answers/fleet.h"
#include "console/answers/images.h"
#include "console/answers/report.h"
#include "console/answers/session.h"
#include "console/answers/waiting.h"
#include "console/answers/why.h"
#include "console/server/static_files.h"

namespace console {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::HttpCall;
using kube::HttpReply;
using kube::Result;
using namespace std::chrono_literals;

constexpr char kIfNoneMatch[] = "If-None-Match";

// Of pods that an answer reads one by one.
constexpr size_t kStreamed = 1024 * 1024 * 1024;
// Of a fleet's objects, which need less memory than as JSON: some 2,000 clusters.
constexpr size_t kFleet = 32 * 1024 * 1024;
// For all calls of an answer. A page gives up after 60 s.
constexpr auto kAnswerTimeout = 50s;

// The pages need no more than their own files and answers, and are shown in no other page.
HttpReply Guarded(HttpReply reply) {
  reply.headers.insert(
      reply.headers.end(),
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
        "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Referrer-Policy", "no-referrer"},
       {"Cross-Origin-Opener-Policy", "same-origin"},
       {"Cross-Origin-Resource-Policy", "same-origin"}});
  return reply;
}

// As HTTP has it: "Sat, 28 Nov 2026 12:00:00 GMT".
std::string HttpDate(kube::WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

HttpReply OfApi(HttpReply reply, kube::WallTime now) {
  reply.headers.emplace_back("Cache-Control", "no-store");
  // The pages tell ages by this clock.
  reply.headers.emplace_back("Date", HttpDate(now));
  return Guarded(std::move(reply));
}

int StatusOf(const Error& error) {
  switch (error.code()) {
    case Code::kNotFound:
      return 404;
    case Code::kInvalid:
    case Code::kExpired:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kThrottled:
      return 429;
    case Code::kUnavailable:
    case Code::kCancelled:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kInternal:
      return 500;
  }
  return 500;
}

Async<HttpReply> Serve(const StaticFile& file, HttpCall call) {
  // The server takes the "/" of the page for a prefix.
  if (call.path != file.path) co_return Guarded(kube::FailureReply(404, "no such path"));
  HttpReply reply{.content_type = std::string(file.content_type)};
  reply.headers = {{"ETag", std::string(file.etag)},
                   {"Cache-Control", "no-cache"},
                   {"Content-Encoding", "gzip"}};
  auto known = call.headers.find(kIfNoneMatch);
  if (known != call.headers.end() && known->second == file.etag) {
    reply.status = 304;
  } else {
    reply.body = file.content;
  }
  co_return Guarded(std::move(reply));
}

}  // namespace

struct Pages::Route {
  const char* method;
  const char* path;
  AnswerTo answer;
  ReadLimits limits = {};
};

const Pages::Route Pages::kRoutes[] = {
    {"GET", "/api/session", AnswerSession},
    {"GET", "/api/status", AnswerStatus, {.of_pods = kStreamed}},
    {"GET", "/api/waiting", AnswerWaiting, {.of_pods = kStreamed}},
    {"GET", "/api/report", AnswerReport, {.of_pods = kStreamed}},
    {"GET", "/api/why/pod", AnswerWhyPod},
    {"GET", "/api/why/config", AnswerWhyConfig, {.of_pods = kStreamed}},
    {"GET", "/api/why/workload", AnswerWhyWorkload},
    {"GET", "/api/configs", AnswerConfigs},
    {"POST", "/api/simulate", AnswerSimulate, {.of_pods = kStreamed}},
    {"GET", "/api/images", AnswerImages},
    {"GET", "/api/fleet", AnswerFleet, {.of_others = kFleet}},
    {"GET", "/api/fleet/why", AnswerWhyPlacement, {.of_others = kFleet}},
};

Pages::Pages(kube::Client& client, kube::Executor executor, kube::Clock& clock,
             kube::Metrics& metrics, PagesOptions options)
    : client_(client),
      executor_(executor),
      clock_(clock),
      operator_namespace_(std::move(options.operator_namespace)),
      login_(client, clock, std::move(options.secret)),
      slots_(std::move(executor), clock, options.slots),
      answered_(metrics.AddCounter("mto_console_answers_total", "Answers of the console.",
                                   {{"result", "answered"}})),
      refused_(metrics.AddCounter("mto_console_answers_total", "Answers of the console.",
                                  {{"result", "refused"}})),
      seconds_(metrics.AddHistogram("mto_console_answer_seconds",
                                    "How long the console took for an answer.")) {}

void Pages::AddTo(kube::HttpsServer& server) {
  for (const Route& route : kRoutes)
    server.Handle(route.method, route.path,
                  [this, &route](HttpCall call) { return Answer(route, std::move(call)); });
  for (const StaticFile& file : StaticFiles())
    server.Handle("GET", std::string(file.path),
                  [&file](HttpCall call) { return Serve(file, std::move(call)); });
}

Async<HttpReply> Pages::Answer(const Route& route, HttpCall call) {
  kube::Stopwatch stopwatch(seconds_, clock_);
  Caller caller = co_await login_.Find(call);
  HttpReply reply;
  if (caller.verdict.status != 200) {
    reply = kube::FailureReply(caller.verdict.status, caller.verdict.reason);
  } else {
    kube::Slots::Lease slot;
    Result<std::string> text = co_await Ask(route, std::move(caller), std::move(call), slot);
    if (text) {
      // The text needs memory until the client has it.
      reply = {.body = std::move(*text), .hold = std::move(slot)};
    } else {
      reply = kube::FailureReply(StatusOf(text.error()), text.error().message());
    }
  }
  (reply.status == 200 ? answered_ : refused_).Increment();
  co_return OfApi(std::move(reply), clock_.WallNow());
}

Async<std::string> Pages::Ask(const Route& route, Caller caller, HttpCall call,
                              kube::Slots::Lease& slot) {
  std::string owner = OwnerOf(caller.verdict.user);
  Result<kube::Slots::Lease> acquired = co_await slots_.Acquire(std::move(owner));
  if (!acquired) co_return acquired.error();
  slot = std::move(*acquired);
  Result<Query> query = Query::Parse(call.query);
  if (!query) co_return query.error();

  ReadLimits limits = route.limits;
  limits.deadline = clock_.Now() + kAnswerTimeout;
  ReadClient client(client_, clock_, std::move(caller.authorization), limits);
  const Question question{.client = client,
                          .executor = executor_,
                          .clock = clock_,
                          .query = std::move(*query),
                          .body = std::move(call.body),
                          .user = std::move(caller.verdict.user),
                          .operator_namespace = operator_namespace_};
  Result<std::string> text = co_await route.answer(question);
  co_return text;
}

kube::HttpsServerOptions ServerOptions(std::string address) {
  kube::HttpsServerOptions options{.address = std::move(address), .max_connections = 64};
  options.kept_headers = {kTokenHeader, kIfNoneMatch};
  // A PodPlacementConfig has at most 64 KiB.
  options.limits.body_bytes = 256 * 1024;
  options.limits.total_body_bytes = 2 * 1024 * 1024;
  return options;
}

}  // namespace console
