/// SIGINT and SIGTERM as a request to finish: the first lets a tool complete the lines in flight, the second
/// ends it.
#pragma once

namespace leap {

/// Installs the handlers (a second signal has its default effect) and ignores SIGPIPE, so that a broken pipe
/// is seen by whoever writes. Call once, before threads start.
void install_signal_handlers();

/// As if signal `number` had come, where none has yet: for a signal that another process got. Any thread.
void request_interrupt(int number);

/// The signal that asked to finish, or 0.
int interrupted();

/// Readable once a signal has asked to finish; for poll(). -1 before install_signal_handlers().
int interrupt_fd();

}  // namespace leap
