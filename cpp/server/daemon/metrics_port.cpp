#include "server/daemon/metrics_port.h"

#include <algorithm>
#include <asio.hpp>
#include <list>
#include <thread>
#include <utility>

#include "runtime/transport/tcp/tcp.h"
#include "server/util/error_words.h"
#include "server/util/format.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

using Socket = asio::ip::tcp;

constexpr std::size_t kRequestSizeMax = 8u << 10;
constexpr std::size_t kClientsMax = 32;
constexpr int kBacklog = 128;
constexpr std::chrono::seconds kPatience{5};

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  return format_text("HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     type, body.size(), body);
}

std::string plain(std::string_view status, std::string_view body) {
  return response(status, "text/plain; charset=utf-8", body);
}

Socket::endpoint endpoint_of(const Address& address) {
  const Address number = tcp::resolve_local(address);
  return {asio::ip::make_address(number.host), number.port};
}

}  // namespace

// One request and its answer. Owns itself until it has ended.
class MetricsPort::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Socket::socket socket, const std::function<std::string()>& text)
      : socket_(std::move(socket)), deadline_(socket_.get_executor()), text_(text) {}

  // Whether the client has not sent its request yet.
  bool is_silent() const { return response_.empty(); }
  void give_up() {
    std::error_code ignored;
    socket_.close(ignored);
  }

  void begin() {
    deadline_.expires_after(kPatience);
    deadline_.async_wait([weak = weak_from_this()](const std::error_code& error) {
      const auto self = weak.lock();
      if (self && !error) self->give_up();
    });
    asio::async_read_until(socket_, asio::dynamic_buffer(request_, kRequestSizeMax), "\r\n\r\n",
                           [self = shared_from_this()](const std::error_code& error, std::size_t) {
                             if (!error || error == asio::error::not_found) self->reply(!error);
                           });
  }

 private:
  void reply(bool is_whole) {
    const std::string_view line = std::string_view(request_).substr(0, request_.find("\r\n"));
    const std::string_view method = line.substr(0, line.find(' '));
    std::string_view target = line.substr(std::min(line.size(), method.size() + 1));
    target = target.substr(0, target.find_first_of(" ?"));
    if (!is_whole) {
      response_ = plain("431 Request Header Fields Too Large", "too long\n");
    } else if (method != "GET") {
      response_ = plain("405 Method Not Allowed", "only GET\n");
    } else if (target != "/metrics") {
      response_ = plain("404 Not Found", "there is only /metrics\n");
    } else {
      response_ = response("200 OK", "text/plain; version=0.0.4; charset=utf-8", text_());
    }
    asio::async_write(socket_, asio::buffer(response_),
                      [self = shared_from_this()](const std::error_code&, std::size_t) {
                        std::error_code ignored;
                        self->socket_.shutdown(Socket::socket::shutdown_both, ignored);
                        self->deadline_.cancel();
                      });
  }

  Socket::socket socket_;
  asio::steady_timer deadline_;
  const std::function<std::string()>& text_;
  std::string request_;
  std::string response_;
};

struct MetricsPort::State {
  State(const Address& address, std::function<std::string()> what) : text(std::move(what)), acceptor(io) {
    const auto endpoint = endpoint_of(address);
    std::error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(Socket::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(kBacklog, error);
    if (error) {
      throw ConnectionError("cannot listen on " + address.text() + " for --metrics (" + error.message() +
                            "); choose a free port of an address of this machine");
    }
    accept();
    thread = std::thread([this] { run(); });
  }
  ~State() {
    io.stop();
    thread.join();
  }

  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {  // of one exchange, which ends
        log_warning("no answer for metrics: {}", words_of(error));
      }
    }
  }
  void accept() {
    acceptor.async_accept([this](const std::error_code& error, Socket::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {
        log_warning("no connection for metrics: {}", error.message());
        return retry();
      }
      accept();
      make_room();
      const auto exchange = std::make_shared<Exchange>(std::move(socket), text);
      exchanges.push_back(exchange);
      exchange->begin();
    });
  }
  // Makes room by closing the oldest exchange, or rather the oldest without a request, so that silent clients
  // cannot keep others out.
  void make_room() {
    std::erase_if(exchanges, [](const auto& exchange) { return exchange.expired(); });
    if (exchanges.size() < kClientsMax) return;
    auto first = std::find_if(exchanges.begin(), exchanges.end(), [](const auto& weak) {
      const auto exchange = weak.lock();
      return exchange && exchange->is_silent();
    });
    if (first == exchanges.end()) first = exchanges.begin();
    if (const auto exchange = first->lock()) exchange->give_up();
    exchanges.erase(first);
  }
  // Accepting failed, for example because no descriptors are left; tries again later.
  void retry() {
    pause.expires_after(std::chrono::seconds(1));
    pause.async_wait([this](const std::error_code& error) {
      if (!error) accept();
    });
  }

  const std::function<std::string()> text;
  std::list<std::weak_ptr<Exchange>> exchanges;  // in order of arrival
  asio::io_context io{1};
  asio::steady_timer pause{io};
  Socket::acceptor acceptor;
  std::thread thread;
};

MetricsPort::MetricsPort(const Address& address, std::function<std::string()> text)
    : state_(std::make_unique<State>(address, std::move(text))) {}

MetricsPort::~MetricsPort() = default;

Address MetricsPort::address() const {
  const auto endpoint = state_->acceptor.local_endpoint();
  return {endpoint.address().to_string(), endpoint.port()};
}

}  // namespace remotecl::server
