/// What every tool shares around its one call: flags, exit status, messages, signals.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leap::cli {

class Tool {
 public:
  /// `footer` ends the help text (examples).
  Tool(std::string name, const std::string& description, const std::string& footer);
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Where a main binds its own options.
  CLI::App& flags() { return app_; }
  const std::string& name() const { return name_; }
  static std::string version();

  /// Parses the command line and runs `body`; returns the exit status. Help and version go to stdout, every
  /// error is one line on stderr. After a signal asked to finish, the status is 128 + its number.
  int run(int argc, char** argv, const std::function<void()>& body);

  /// One line on stderr: "leap-rank: message". Any thread.
  void warn(std::string_view message) const;
  /// The same for one record: counts it, and makes the exit status 1.
  void report_failed(const std::string& line, std::string_view message);
  std::uint64_t failed() const { return failed_; }

 private:
  int guarded(int argc, char** argv, const std::function<void()>& body);
  int print(const std::string& text) const;

  std::string name_;
  CLI::App app_;
  std::uint64_t failed_ = 0;
};

/// An option whose value is one of a few names.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value,
                        const std::vector<std::pair<std::string, T>>& choices, const std::string& help) {
  const auto set = [&value, choices, name](const std::string& text) {
    std::string known;
    for (const auto& [choice, meaning] : choices) {
      if (choice == text) {
        value = meaning;
        return;
      }
      known += (known.empty() ? "" : ", ") + choice;
    }
    throw CLI::ValidationError(name, "'" + text + "' is none of " + known);
  };
  return app.add_option_function<std::string>(name, set, help)->type_name("NAME");
}

/// A finite number in [low, high]: CLI::Range lets NaN through.
CLI::Validator number_in(double low, double high);

/// Sets an environment variable that a library reads when it is loaded, by starting this program anew; does
/// nothing when the variable is set. First thing in main.
void ensure_environment(const char* variable, const char* value, char** argv);

}  // namespace leap::cli
