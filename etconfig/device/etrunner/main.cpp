// etrunner: measures programs on a device without Python, for `etconfig bench` and `tune --on`.
//
// Answers on its input and output as etconfig does on a device with Python, with ExecuTorch's own runtime.
// Each line, in both directions, is the number of a channel and a text. Channel 0 takes files; each other
// one ends in a process of its own, `etrunner worker`, from its first line until an empty one.
// All ends, and the files are removed, when the connection does.

#include <etconfig/facts.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <filesystem>
#include <map>
#include <thread>

#include "program.h"

namespace etrunner {
namespace {

namespace fs = std::filesystem;

#define ETRUNNER_TEXT(number) #number
#define ETRUNNER_NUMBER(number) ETRUNNER_TEXT(number)
constexpr char kVersion[] = ETRUNNER_NUMBER(ETCONFIG_VERSION_MAJOR) "." ETRUNNER_NUMBER(
    ETCONFIG_VERSION_MINOR) "." ETRUNNER_NUMBER(ETCONFIG_VERSION_PATCH);
// The plugin that declares the options of program.h, in the version that they are from.
constexpr char kPackages[] = "{\"etconfig-upstream\": \"0.1.0\"}";

constexpr char kNotUnderstood[] = "the request is not understood";

// What libraries print goes to stderr. Returns where answers go.
int take_output() {
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  signal(SIGPIPE, SIG_IGN);
  return output;
}

// Keeps the last error that the runtime logs, for the reason of a failure.
void keep_error(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                const char* message, size_t length) {
  if (level != kError && level != kFatal) return;
  last_error.assign(message, length);
  std::fprintf(stderr, "%s\n", last_error.c_str());
}

std::string answer_to(std::string* line, std::unique_ptr<MeasuredProgram>* program) {
  JsonReader json(line->data(), line->size(), kNotUnderstood);
  Scalar operation;
  std::string result;
  int index = 0;
  const bool is_read = json.items([&] {
    if (index++ == 0) return json.scalar(&operation);
    if (operation.text == "load") {
      Fields request, options;
      const bool is_known = json.members([&](std::string_view key) {
        if (key == "request") return read_fields(&json, &request);
        return key == "options" ? read_fields(&json, &options) : json.skip_value();
      });
      if (!is_known) return false;
      *program = std::make_unique<MeasuredProgram>(request, options);
      result = (*program)->loaded();
      return true;
    }
    if (*program == nullptr) throw Failure{"load a configuration first"};
    if (operation.text == "run") {
      result = (*program)->run(&json);
      return true;
    }
    Scalar count;
    if (operation.text != "time" || !json.scalar(&count) || count.kind != ValueKind::Integer) return false;
    result = (*program)->time(count.integer);
    return true;
  });
  if (!is_read || result.empty()) throw Failure{kNotUnderstood};
  return "{\"result\": " + result + "}\n";
}

int serve_worker() {
  const int output = take_output();
  rt::register_pal(rt::PalImpl::create(keep_error, __FILE__));
  rt::runtime_init();
  Lines lines(STDIN_FILENO);
  std::unique_ptr<MeasuredProgram> program;
  std::string line;
  while (lines.read()) {
    while (lines.take(&line)) {
      last_error.clear();
      std::string answer;
      try {
        answer = answer_to(&line, &program);
      } catch (const std::exception& error) {
        answer = "{\"failure\": " + json_text(error.what()) + "}\n";
      }
      if (!write_all(output, answer)) _exit(1);
    }
  }
  _exit(0);  // nothing needs to be taken down in order
}

// A process that measures one configuration.
class Worker {
 public:
  Worker() {
    int to[2];
    int from[2];
    if (pipe(to) != 0 || pipe(from) != 0) throw Failure{std::strerror(errno)};
    for (const int each : {to[1], from[0]}) fcntl(each, F_SETFD, FD_CLOEXEC);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) throw Failure{std::strerror(errno)};
    if (process_ == 0) {
#ifdef __linux__
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
#endif
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      close(to[0]);
      close(from[1]);
      execl("/proc/self/exe", "etrunner", "worker", static_cast<char*>(nullptr));
      std::perror("etrunner: cannot start itself");
      _exit(1);
    }
    close(to[0]);
    close(from[1]);
    input_ = to[1];
    lines_.emplace(from[0]);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (process_ > 0) kill(process_, SIGKILL);
    wait_for_end();
    close(input_);
    close(lines_->descriptor());
  }

  Lines& lines() { return *lines_; }
  bool is_running() const { return process_ > 0; }
  void tell(const std::string& line) const { write_all(input_, line + "\n"); }
  // The answer after its end: its exit status, or the negative number of a signal.
  std::string ended() {
    wait_for_end();
    const int status = WIFSIGNALED(status_) ? -WTERMSIG(status_) : WEXITSTATUS(status_);
    return "{\"ended\": " + std::to_string(status) + "}";
  }

 private:
  void wait_for_end() {
    if (process_ > 0) waitpid(process_, &status_, 0);
    process_ = 0;
  }

  pid_t process_ = 0;
  int status_ = 0;
  int input_ = -1;
  std::optional<Lines> lines_;
};

// A directory for files that are received, which is removed with it.
class Directory {
 public:
  Directory() {
    const char* const given = std::getenv("TMPDIR");
    for (const char* parent : {given == nullptr ? "/tmp" : given, "/tmp", "/data/local/tmp"}) {
      path_ = std::string(parent) + "/etconfig-XXXXXX";
      if (mkdtemp(path_.data()) != nullptr) return;
    }
    throw Failure{"no directory for temporary files; set TMPDIR"};
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  // Writes a part of a file to the end of what is there: {"folder": ..., "name": ..., "data": ...}.
  void keep(std::string text) const {
    JsonReader json(text.data(), text.size(), kNotUnderstood);
    Fields fields;
    const bool is_read = read_fields(&json, &fields);
    const std::string folder(one(fields, "folder").text), name(one(fields, "name").text);
    const std::vector<uint8_t> bytes = decode_base64(one(fields, "data").text);
    for (const std::string& each : {folder, name}) {
      if (!is_read || each.empty() || each == "." || each == ".." || each.find('/') != std::string::npos) {
        throw Failure{"a file cannot be received: it has no plain name"};
      }
    }
    const fs::path target = fs::path(path_) / folder / name;
    fs::create_directory(target.parent_path());
    std::ofstream file(target, std::ios::binary | std::ios::app);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw Failure{"cannot write " + target.string() + ": " + std::strerror(errno)};
  }

 private:
  std::string path_;
};

std::string greeting(const std::string& directory) {
  static etconfig::device::FactStore<1024, 512 << 10> facts;
  using etconfig::device::FactStatus;
  const bool is_complete = etconfig::device::detect_all(&facts) == FactStatus::Ok &&
      etconfig::device::set_runtime_backends(&facts) == FactStatus::Ok &&
      facts.set("runtime.executorch", ETRUNNER_EXECUTORCH, "detected etrunner") == FactStatus::Ok;
  if (!is_complete) throw Failure{"there are more facts than there is room for"};
  std::string sheet;
  etconfig::device::write_facts_json(facts, [&](std::string_view part) { sheet.append(part); });
  utsname system{};
  uname(&system);
  std::string load;
  std::ifstream("/proc/loadavg") >> load;
  const std::string machine = "{\"python\": \"etrunner with ExecuTorch " ETRUNNER_EXECUTORCH
      "\", \"system\": " + json_text(std::string(system.sysname) + " " + system.machine) +
      ", \"cores\": " + std::to_string(std::thread::hardware_concurrency()) +
      ", \"load_average\": " + (load.empty() ? "null" : load) +
      ", \"numpy\": null, \"blas\": null, \"blas_settings\": {}}";
  return std::string("{\"etconfig_agent\": \"") + kVersion + "\", \"directory\": " + json_text(directory) +
      ", \"packages\": " + kPackages + ", \"machine\": " + machine + ", \"facts\": " + json_text(sheet) + "}";
}

int stop_pipe[2];

// Serves the connection on stdin and stdout until it ends, or a signal asks for the end.
void serve_connection(int output) {
  const Directory directory;
  std::map<std::string, Worker> workers;
  const auto say = [&](const std::string& channel, const std::string& text) {
    if (!write_all(output, channel + " " + text + "\n")) throw Failure{"the connection is cut"};
  };
  say("0", greeting(directory.path()));
  Lines requests(STDIN_FILENO);
  std::string line;
  for (;;) {
    std::vector<pollfd> waiting = {{STDIN_FILENO, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
    for (auto& [channel, worker] : workers) {
      if (worker.is_running()) waiting.push_back({worker.lines().descriptor(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;  // interrupted
    if (waiting[1].revents != 0) return;
    for (auto& [channel, worker] : workers) {
      const auto is_readable = [&, descriptor = worker.lines().descriptor()](const pollfd& each) {
        return each.fd == descriptor && each.revents != 0;
      };
      if (!std::any_of(waiting.begin(), waiting.end(), is_readable)) continue;
      const bool is_open = worker.lines().read();
      while (worker.lines().take(&line)) say(channel, line);
      if (!is_open) say(channel, worker.ended());
    }
    if (waiting[0].revents == 0) continue;
    if (!requests.read()) return;
    while (requests.take(&line)) {
      const size_t space = line.find(' ');
      const std::string channel = line.substr(0, space);
      const std::string text = space == std::string::npos ? "" : line.substr(space + 1);
      if (channel == "0") {
        directory.keep(text);
      } else if (text.empty()) {
        workers.erase(channel);
      } else if (Worker& worker = workers.try_emplace(channel).first->second; worker.is_running()) {
        worker.tell(text);
      } else {
        say(channel, worker.ended());
      }
    }
  }
}

int serve() {
  const int output = take_output();
  if (pipe(stop_pipe) != 0) return 1;
  for (const int each : stop_pipe) fcntl(each, F_SETFD, FD_CLOEXEC);
  for (const int each : {SIGHUP, SIGINT, SIGTERM}) {
    signal(each, [](int) { static_cast<void>(!write(stop_pipe[1], "", 1)); });
  }
  try {
    serve_connection(output);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "etrunner: %s\n", error.what());
  }
  return 1;
}

}  // namespace
}  // namespace etrunner

int main(int argc, char** argv) {
  const std::string_view argument = argc > 1 ? argv[1] : "";
  if (argument == "worker") return etrunner::serve_worker();
  if (argument.empty()) return etrunner::serve();
  std::fputs("`etconfig bench --on ssh://HOST/path/of/etrunner` starts it without arguments\n", stderr);
  return 2;
}
