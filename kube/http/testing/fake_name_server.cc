// SPDX-License-Identifier: Apache-2.0
#include "kube/http/testing/fake_name_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/udp.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace kube {

using asio::ip::udp;

struct FakeNameServer::State {
  State(const Executor& executor, const udp::endpoint& endpoint) : socket(executor, endpoint) {}

  udp::socket socket;
  std::string folder;
  std::map<std::string, std::vector<std::string>> addresses;
  std::optional<std::string> silent;
  std::vector<std::string> asked;

  std::string AnswerTo(const std::string& question);
};

namespace {

constexpr size_t kHeader = 12;
constexpr char kTypeA = 1;
constexpr char kTypeAaaa = 28;

// One resource record: the name is that of the question.
std::string RecordOf(const std::string& text, char type) {
  asio::ip::address address = asio::ip::make_address(text);
  if (address.is_v4() != (type == kTypeA)) return "";
  std::string data;
  if (address.is_v4()) {
    auto bytes = address.to_v4().to_bytes();
    data.assign(bytes.begin(), bytes.end());
  } else {
    auto bytes = address.to_v6().to_bytes();
    data.assign(bytes.begin(), bytes.end());
  }
  // Name, type, class IN, 60 s, length.
  std::string record("\xc0\x0c\0", 3);
  record += type;
  record += std::string("\0\x01\0\0\0\x3c\0", 7);
  record += static_cast<char>(data.size());
  return record + data;
}

}  // namespace

// Empty: no reply.
std::string FakeNameServer::State::AnswerTo(const std::string& question) {
  if (question.size() < kHeader + 5) return "";
  std::string name;
  size_t at = kHeader;
  while (at + 5 < question.size() && question[at] != 0) {
    size_t length = static_cast<unsigned char>(question[at]);
    name += (name.empty() ? "" : ".") + question.substr(at + 1, length);
    at += 1 + length;
  }
  char type = question[at + 2];
  asked.push_back(name + (type == kTypeA ? " A" : type == kTypeAaaa ? " AAAA" : " ?"));
  if (silent && name.ends_with(*silent)) return "";

  auto found = addresses.find(name);
  std::string records;
  char count = 0;
  if (found != addresses.end()) {
    for (const std::string& address : found->second) {
      std::string record = RecordOf(address, type);
      count = static_cast<char>(count + (record.empty() ? 0 : 1));
      records += record;
    }
  }
  // The query's ID; flags (response, recursion, NXDOMAIN if unknown); one question; the answers.
  std::string answer = question.substr(0, 2) + "\x81";
  answer += found == addresses.end() ? '\x83' : '\x80';
  answer += std::string("\0\x01\0", 3) + count + std::string("\0\0\0\0", 4);
  return answer + question.substr(kHeader, at + 5 - kHeader) + records;
}

asio::awaitable<void> FakeNameServer::Serve(std::shared_ptr<State> state) {
  std::string buffer(512, '\0');
  while (true) {
    udp::endpoint peer;
    auto received = co_await state->socket.async_receive_from(asio::buffer(buffer), peer, kTuple);
    if (std::get<0>(received)) co_return;
    std::string answer = state->AnswerTo(buffer.substr(0, std::get<1>(received)));
    boost::system::error_code ignored;
    if (!answer.empty()) state->socket.send_to(asio::buffer(answer), peer, 0, ignored);
  }
}

FakeNameServer::FakeNameServer(Executor executor, const std::string& options)
    : state_(
          std::make_shared<State>(executor, udp::endpoint(asio::ip::address_v4::loopback(), 0))) {
  const char* temporary = std::getenv("TEST_TMPDIR");
  std::string folder = std::string(temporary != nullptr ? temporary : "/tmp") + "/names-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  state_->folder = folder;
  std::ofstream(folder + "/resolv.conf") << "nameserver 127.0.0.1\n" << options << "\n";
  asio::co_spawn(executor, Serve(state_), [](std::exception_ptr) {});
}

FakeNameServer::~FakeNameServer() {
  boost::system::error_code ignored;
  state_->socket.close(ignored);
  std::error_code left;
  std::filesystem::remove_all(state_->folder, left);
}

NameServers FakeNameServer::servers() const {
  return {.resolv_conf = state_->folder + "/resolv.conf",
          .port = state_->socket.local_endpoint().port()};
}

void FakeNameServer::Add(const std::string& name, std::vector<std::string> addresses) {
  state_->addresses[name] = std::move(addresses);
}

void FakeNameServer::IgnoreQueriesFor(const std::string& suffix) { state_->silent = suffix; }

const std::vector<std::string>& FakeNameServer::asked() const { return state_->asked; }

}  // namespace kube
