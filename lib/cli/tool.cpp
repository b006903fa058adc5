#include "cli/tool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "jsonl/lines.hpp"

namespace leap::cli {
namespace {

std::string one_line(std::string_view text) {
  std::string out;
  for (char c : text) out.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// Shows an option as `--name TYPE`, without what its validators say of themselves.
class PlainFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':'));
  }
};

/// Makes sure that files opened later never get a standard stream's number. A closed stdin stays unreadable.
void occupy_standard_streams() {
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_WRONLY);
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) throw Error("stdout is closed");
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_WRONLY);
}

}  // namespace

Tool::Tool(std::string name, const std::string& description, const std::string& footer)
    : name_(std::move(name)), app_(description, name_) {
  app_.footer(footer);
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.set_version_flag("--version", name_ + " " + version(), "Print the version and exit");
  app_.formatter(std::make_shared<PlainFormatter>());
  app_.get_formatter()->column_width(28);
}

std::string Tool::version() {
  return LEAP_VERSION;
}

void Tool::warn(std::string_view message) const {
  const std::string line = name_ + ": " + one_line(message) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void Tool::report_failed(const std::string& line, std::string_view message) {
  ++failed_;
  warn(line + ": " + std::string(message));
}

int Tool::print(const std::string& text) const {
  jsonl::LineWriter(STDOUT_FILENO, "stdout").write(text);
  return kExitOk;
}

int Tool::guarded(int argc, char** argv, const std::function<void()>& body) {
  try {
    occupy_standard_streams();
    install_signal_handlers();
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return print(app_.help());
    } catch (const CLI::CallForVersion& version_text) {
      return print(std::string(version_text.what()) + "\n");
    } catch (const CLI::ParseError& e) {
      throw UsageError(std::string(e.what()) + " (see " + name_ + " --help)");
    }
    body();
    if (interrupted() != 0) return 128 + interrupted();
    return failed_ == 0 ? kExitOk : kExitSomeFailed;
  } catch (const CLI::CallForHelp&) {  // thrown by the body: nothing to read
    return print(app_.help());
  } catch (const UsageError& e) {
    warn(e.what());
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    warn("out of memory");
    return kExitStopped;
  } catch (const std::exception& e) {
    warn(e.what());
    return kExitStopped;
  }
}

int Tool::run(int argc, char** argv, const std::function<void()>& body) {
  try {
    return guarded(argc, argv, body);
  } catch (const std::exception& e) {  // while printing the help
    warn(e.what());
    return kExitStopped;
  }
}

CLI::Validator number_in(double low, double high) {
  const auto text_of = [](double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  const std::string range = text_of(low) + " to " + text_of(high);
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool in =
            CLI::detail::lexical_cast(text, value) && value >= low && value <= high && std::isfinite(value);
        return in ? std::string() : text + " is not a number from " + range;
      },
      "");
}

void ensure_environment(const char* variable, const char* value, char** argv) {
  if (std::getenv(variable) != nullptr) return;
  setenv(variable, value, 1);
  execv("/proc/self/exe", argv);  // on failure go on without it
}

}  // namespace leap::cli
