#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sandbox/box.hpp"
#include "sandbox/landlock.hpp"

using leap::sandbox::Box;
using leap::sandbox::Child;
using leap::sandbox::End;
using leap::sandbox::Ended;
using leap::sandbox::Mode;

namespace {

Child shell(const std::string& script, double cpu_s = 5) {
  Child child;
  child.kind = "binary";
  child.arguments = {"/bin/sh", "-c", script};
  child.limits.cpu_s = cpu_s;
  child.limits.wall_s = 20;
  return child;
}

Child python(const std::string& script, double cpu_s = 5) {
  Child child = shell("", cpu_s);
  child.arguments = {"/usr/bin/python3", "-I", "-S", "-c", script};
  return child;
}

Ended run(Box& box, const Child& child) {
  box.start(child);
  return box.wait();
}

/// Processes whose command line holds `mark`.
int processes_with(const std::string& mark) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find(mark) != std::string::npos) ++count;
  }
  return count;
}

/// Where namespaces are forbidden, as in many containers, there is only the sandbox without them.
bool has_namespaces() {
  const bool has = leap::sandbox::resolve(Mode::kAuto) == Mode::kBwrap;
  if (!has) WARN("bubblewrap does not work here");
  return has;
}

}  // namespace

TEST_CASE("a program's input, output, arguments and end", "[sandbox]") {
  Box box({});
  Child child = shell("cat; echo err >&2; exit 3");
  child.input = "some input\n";
  const Ended ended = run(box, child);
  CHECK(ended.end == End::kExit);
  CHECK(ended.code == 3);
  CHECK(ended.out == "some input\n");
  CHECK(ended.err == "err\n");
  CHECK(run(box, shell("kill -SEGV $$")).code == SIGSEGV);
  CHECK(box.ended().end == End::kSignal);
  CHECK(run(box, python("import sys; sys.stdin.seek(0); print(sys.stdin.read())")).out == "\n");
}

TEST_CASE("the view from inside: nobody, no network, no environment, no files of others", "[sandbox]") {
  if (!has_namespaces()) return;
  Box box({});
  CHECK(run(box, shell("id -u; hostname 2>/dev/null || uname -n")).out == "65534\nbox\n");
  CHECK(run(box,
            shell("ls /root /home /etc/passwd 2>&1; touch /usr/x || touch /x || touch /dev/x; ls /proc/1/fd"))
            .out.find("No such file") != std::string::npos);
  CHECK(box.ended().code != 0);
  CHECK(run(box, python("import os; print(sorted(os.environ))")).out ==
        "['HOME', 'LANG', 'PATH', 'TMPDIR']\n");
  CHECK(run(box, python("import socket; socket.socket()")).code == 1);
  CHECK(run(box, python("import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd')))")).out ==
        "[0, 1, 2, 3]\n");  // 3 is the listing's own
  CHECK(
      run(box, python("import os\ntry: open('/proc/1/mem','rb')\nexcept PermissionError: print('no')")).out ==
      "no\n");
}

TEST_CASE("calls that reach out of the sandbox end the process", "[sandbox]") {
  Box box({});
  for (const char* call :
       {"libc.ptrace(0, 0, 0, 0)", "libc.unshare(0x10000000)", "libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0)",
        "libc.process_vm_readv(1, 0, 0, 0, 0, 0)"}) {
    INFO(call);
    const Ended ended = run(box, python(std::string("import ctypes; libc = ctypes.CDLL(None); ") + call));
    CHECK(ended.end == End::kSignal);
    CHECK(ended.code == SIGSYS);
  }
}

TEST_CASE("limits of time, memory, output and processes", "[sandbox]") {
  Box box({});
  Ended ended = run(box, python("while True: pass", 0.3));
  CHECK(ended.end == End::kCpu);
  CHECK(ended.cpu_s >= 0.3);
  Child sleeper = shell("sleep 100");
  sleeper.limits.wall_s = 0.3;
  ended = run(box, sleeper);
  CHECK(ended.end == End::kWall);
  CHECK(ended.cpu_s < 0.3);
  Child eater = python("x = bytearray(200 << 20)");
  eater.limits.memory_mb = 100;
  CHECK(run(box, eater).code == 1);
  eater.limits.memory_mb = 400;
  CHECK(run(box, eater).code == 0);
  Child flood = shell("yes");
  flood.limits.output_kb = 10;
  ended = run(box, flood);
  CHECK(ended.end == End::kOutput);
  CHECK(ended.out.size() == 10240);
  ended = run(box, shell("i=0; while [ $i -lt 1000 ]; do sleep 100 & i=$((i+1)); done"));
  CHECK(ended.code != 0);
  CHECK(run(box, shell("echo fine")).out == "fine\n");
  ended = run(box, python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", 0.5));
  CHECK(ended.end == End::kCpu);
  CHECK(run(box, shell("echo fine")).out == "fine\n");
}

TEST_CASE("nothing of a run is left for the next", "[sandbox]") {
  if (!has_namespaces()) return;
  Box box({});
  CHECK(run(box, shell("(setsid sleep 4242 &) ; mkdir -p /tmp/a/b; echo x > /tmp/a/b/c; chmod 0 /tmp/a; echo "
                       "y > /dev/shm/z"))
            .code == 0);
  CHECK(run(box, shell("ls -A /tmp /dev/shm; cat /proc/[0-9]*/cmdline | grep -c '[4]242'")).out ==
        "/dev/shm:\n\n/tmp:\n0\n");
  CHECK(processes_with("4242") == 0);
}

TEST_CASE("a child cannot end its supervisor", "[sandbox]") {
  Box box({});
  CHECK(run(box, shell("kill -9 1; kill -INT 1; kill -TERM 1; kill -9 -1; echo alive")).end != End::kWall);
  CHECK(run(box, shell("echo fine")).out == "fine\n");
}

TEST_CASE("a sandbox leaves nothing behind", "[sandbox]") {
  pid_t pid = 0;
  {
    Box box({});
    pid = box.pid();
    box.start(shell("sleep 4343"));
  }
  CHECK(kill(pid, 0) == -1);
  CHECK(processes_with("4343") == 0);
}

TEST_CASE("without a sandbox the limits still hold", "[sandbox]") {
  Box box({Mode::kNone, "", 64});
  CHECK(run(box, shell("echo hi")).out == "hi\n");
  CHECK(run(box, python("while True: pass", 0.2)).end == End::kCpu);
  CHECK(run(box, shell("(sleep 4444 &); (setsid sleep 4444 &); exit 0")).code == 0);
  CHECK(processes_with("4444") == 0);
}

TEST_CASE("a killed supervisor is a fault, not a verdict", "[sandbox]") {
  Box box({});
  box.start(shell("sleep 100"));
  kill(box.pid(), SIGKILL);
  CHECK_THROWS_AS(box.wait(), leap::sandbox::Fault);
  CHECK_THROWS_AS(box.start(shell("true")), leap::sandbox::Fault);
}

TEST_CASE("no bubblewrap is an error that says what to do", "[sandbox]") {
  const std::string path = getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  CHECK_THROWS_WITH(leap::sandbox::check(Mode::kBwrap), Catch::Contains("--sandbox none"));
  setenv("PATH", path.c_str(), 1);
  if (has_namespaces()) leap::sandbox::check(Mode::kBwrap);
}

TEST_CASE("without namespaces: files, signals, sockets, processes and disk are held back", "[sandbox]") {
  if (leap::sandbox::landlock_abi() < 6) {
    WARN("this kernel's Landlock is too old");
    return;
  }
  std::string work_dir;
  {
    Box box({Mode::kLandlock, "", 8});
    CHECK(box.mode() == Mode::kLandlock);
    work_dir = run(box, shell("pwd")).out;
    work_dir.pop_back();
    const std::string me = std::to_string(getpid());
    CHECK(run(box, shell("ls /tmp / /root /home; cat /etc/passwd /proc/1/stat; echo x > ../x; touch /usr/x"))
              .out.empty());
    CHECK(run(box, shell("echo x > x; cat x; cat /dev/null; echo y > /dev/null; ls /usr/bin/env")).out ==
          "x\n/usr/bin/env\n");
    CHECK(run(box, shell("kill -0 " + me + " || kill -0 $PPID || echo no")).out == "no\n");
    CHECK(run(box, python("import socket; socket.socket(socket.AF_UNIX)")).code == 1);
    CHECK(run(box, python("import socket; socket.socket()")).code == 1);
    CHECK(run(box, python("import os; os.setsid()")).code == 1);
    CHECK(run(box, python("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)")).code == SIGSYS);
    if (geteuid() == 0)
      CHECK(run(box, python("import os; print(os.getuid() == os.getgid() > 65534, os.getgroups())")).out ==
            "True []\n");
    // A fork bomb stays within its limit, and ends as a whole.
    Child bomb = python(
        "import os, time\nopen('4545', 'w')\nfor i in range(200):\n  try:\n    if os.fork() == 0: "
        "time.sleep(9)\n  except OSError: print(i); break");
    bomb.limits.processes = 40;
    const Ended ended = run(box, bomb);
    CHECK(std::stoi(ended.out) <= 40);
    CHECK(std::stoi(ended.out) > 20);
    CHECK(run(box, shell("(sleep 4546 &); (sleep 4546 &); exit 0")).code == 0);
    CHECK(processes_with("4546") == 0);
    CHECK(run(box, shell("for i in 1 2 3; do head -c 4000000 /dev/zero > f$i; done; sleep 9")).end ==
          End::kOutput);
    CHECK(run(box, python("import os\nfor i in range(3000):\n  os.mkdir('d'); os.chdir('d')")).code >= 0);
    CHECK(run(box, shell("ls -A")).out.empty());
  }
  CHECK(!std::filesystem::exists(work_dir));
}

TEST_CASE("a supervisor that was killed takes its processes along", "[sandbox]") {
  for (const Mode mode : {Mode::kLandlock, Mode::kNone}) {
    if (mode == Mode::kLandlock && leap::sandbox::landlock_abi() == 0) continue;
    Box box({mode, "", 8});
    box.start(shell("(sleep 4747 &) ; sleep 4747"));
    while (processes_with("4747") < 2) usleep(1000);
    kill(box.pid(), SIGKILL);
    CHECK_THROWS_AS(box.wait(), leap::sandbox::Fault);
    CHECK(processes_with("4747") == 0);
  }
}
