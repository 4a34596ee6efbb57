#include "sockets/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "arguments.h"
#include "errors.h"

namespace uring {

namespace {

constexpr size_t kHostBytesMax = 255;
constexpr int kWouldBlock = -1;
constexpr size_t kBuffersPerCall = 1024;

int BoundSocket(const std::string& host, int port, int backlog, bool shares_port, const char** step) {
  sockaddr_storage address{};
  socklen_t length = sizeof(sockaddr_in);
  int family = AF_INET;
  if (uv_ip4_addr(host.c_str(), port, reinterpret_cast<sockaddr_in*>(&address)) != 0) {
    family = AF_INET6;
    length = sizeof(sockaddr_in6);
    *step = "inet_pton";
    if (uv_ip6_addr(host.c_str(), port, reinterpret_cast<sockaddr_in6*>(&address)) != 0) return -EINVAL;
  }
  *step = "socket";
  int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  int on = 1;
  int off = 0;
  bool ok = true;
  *step = "setsockopt";
  ok = ok && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
  if (shares_port) ok = ok && setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0;
  // `::` takes IPv4 as well.
  if (family == AF_INET6) ok = ok && setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0;
  if (ok) {
    *step = "bind";
    ok = bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0;
  }
  if (ok) {
    *step = "listen";
    ok = listen(descriptor, backlog) == 0;
  }
  if (ok) return descriptor;
  int error = errno;
  close(descriptor);
  return -error;
}

// socketListen(host, port, backlog, sharesPort): descriptor. The host is an address, not a name.
Napi::Value Listen(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  std::string host;
  int64_t port = 0;
  int64_t backlog = 0;
  bool shares_port = false;
  if (!ReadText(info, 0, "host", kHostBytesMax, &host)) return env.Undefined();
  if (!ReadInteger(info, 1, "port", 0, 65535, &port)) return env.Undefined();
  if (!ReadInteger(info, 2, "backlog", 1, INT_MAX, &backlog)) return env.Undefined();
  if (!ReadBoolean(info, 3, "sharesPort", &shares_port)) return env.Undefined();
  const char* step = "socket";
  int descriptor = BoundSocket(host, static_cast<int>(port), static_cast<int>(backlog), shares_port, &step);
  if (descriptor < 0) {
    ThrowSystem(env, -descriptor, step);
    return env.Undefined();
  }
  return Napi::Number::New(env, descriptor);
}

// socketAddress(descriptor, isPeer): { address, port }
Napi::Value Address(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  bool is_peer = false;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadBoolean(info, 1, "isPeer", &is_peer)) return env.Undefined();
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if ((is_peer ? getpeername(descriptor, any, &length) : getsockname(descriptor, any, &length)) != 0) {
    ThrowSystem(env, errno, is_peer ? "getpeername" : "getsockname");
    return env.Undefined();
  }
  char text[INET6_ADDRSTRLEN + 1] = "";
  int port = 0;
  if (address.ss_family == AF_INET) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    uv_ip4_name(v4, text, sizeof(text));
    port = ntohs(v4->sin_port);
  } else if (address.ss_family == AF_INET6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    uv_ip6_name(v6, text, sizeof(text));
    port = ntohs(v6->sin6_port);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("address", Napi::String::New(env, text));
  result.Set("port", Napi::Number::New(env, port));
  return result;
}

struct Option {
  const char* name;
  int level;
  int option;
};

constexpr Option kOptions[] = {
    {"noDelay", IPPROTO_TCP, TCP_NODELAY},
    {"keepAlive", SOL_SOCKET, SO_KEEPALIVE},
    {"keepAliveIdleSeconds", IPPROTO_TCP, TCP_KEEPIDLE},
    {"sendBufferBytes", SOL_SOCKET, SO_SNDBUF},
    {"receiveBufferBytes", SOL_SOCKET, SO_RCVBUF},
};

// socketOption(descriptor, name, value)
Napi::Value SetOption(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  std::string name;
  int64_t value = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadText(info, 1, "name", 64, &name)) return env.Undefined();
  if (!ReadInteger(info, 2, "value", 0, INT_MAX, &value)) return env.Undefined();
  for (const Option& option : kOptions) {
    if (name != option.name) continue;
    int number = static_cast<int>(value);
    if (setsockopt(descriptor, option.level, option.option, &number, sizeof(number)) != 0) {
      ThrowSystem(env, errno, "setsockopt");
    }
    return env.Undefined();
  }
  ThrowState(env, "ERR_OUT_OF_RANGE", "name must be an option that is known");
  return env.Undefined();
}

// socketQuietMillis(descriptor): milliseconds since data last arrived
Napi::Value QuietMillis(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  tcp_info details{};
  socklen_t length = sizeof(details);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &details, &length) != 0) {
    ThrowSystem(env, errno, "getsockopt");
    return env.Undefined();
  }
  return Napi::Number::New(env, details.tcpi_last_data_recv);
}

// socketSend(descriptor, buffers): bytes that the kernel took without waiting, -1 when there is no room
Napi::Value Send(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  std::vector<iovec> buffers;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadBytesList(info, 1, "buffers", &buffers)) return env.Undefined();
  msghdr message{};
  message.msg_iov = buffers.data();
  message.msg_iovlen = std::min(buffers.size(), kBuffersPerCall);
  for (;;) {
    ssize_t sent = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return Napi::Number::New(env, static_cast<double>(sent));
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Napi::Number::New(env, kWouldBlock);
    ThrowSystem(env, errno, "sendmsg");
    return env.Undefined();
  }
}

// socketShutdown(descriptor, ways): 0 ends receiving, 1 sending, 2 both. One that the peer has ended is fine.
Napi::Value Shutdown(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  int64_t ways = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  if (!ReadInteger(info, 1, "ways", 0, 2, &ways)) return env.Undefined();
  if (shutdown(descriptor, static_cast<int>(ways)) != 0 && errno != ENOTCONN) ThrowSystem(env, errno, "shutdown");
  return env.Undefined();
}

// socketClose(descriptor). Only sockets: closing a descriptor of the runtime itself would end the process.
Napi::Value Close(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  int descriptor = 0;
  if (!ReadDescriptor(info, 0, &descriptor)) return env.Undefined();
  struct stat details {};
  if (fstat(descriptor, &details) != 0) {
    ThrowSystem(env, errno, "close");
  } else if (!S_ISSOCK(details.st_mode) || descriptor <= STDERR_FILENO) {
    ThrowSystem(env, ENOTSOCK, "close");
  } else if (close(descriptor) != 0 && errno != EINTR) {
    ThrowSystem(env, errno, "close");
  }
  return env.Undefined();
}

}  // namespace

void InitSockets(Napi::Env env, Napi::Object exports) {
  exports.Set("socketListen", Napi::Function::New<Listen>(env, "socketListen"));
  exports.Set("socketAddress", Napi::Function::New<Address>(env, "socketAddress"));
  exports.Set("socketOption", Napi::Function::New<SetOption>(env, "socketOption"));
  exports.Set("socketQuietMillis", Napi::Function::New<QuietMillis>(env, "socketQuietMillis"));
  exports.Set("socketSend", Napi::Function::New<Send>(env, "socketSend"));
  exports.Set("socketShutdown", Napi::Function::New<Shutdown>(env, "socketShutdown"));
  exports.Set("socketClose", Napi::Function::New<Close>(env, "socketClose"));
}

}  // namespace uring
