import Foundation
import MagicTransport
import TestSupport
import Testing

#if os(Linux)
  /// What one process brings to the disk, renames, deletes and sends, in its order. Nothing here can cut the power, so the
  /// order of the calls has to show what would be left.
  struct DiskOrder {
    private let library: URL
    private let log: URL

    private static let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <sys/socket.h>
      #include <sys/stat.h>
      #include <sys/uio.h>
      #include <unistd.h>

      #define NEXT(result, name, ...) ((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

      static void say(const char *call, const char *first, const char *second) {
        const char *log = getenv("DISK_ORDER");
        char line[9000];
        int length = snprintf(line, sizeof line, "%s\\t%s\\t%s\\n", call, first, second);
        int file = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
        if (file < 0) return;
        if (NEXT(ssize_t, "write", int, const void *, size_t)(file, line, length) != length) abort();
        close(file);
      }

      // What has come back: what begins after that is in the log after it.
      static int said_sync(int file, int result) {
        int error = errno;
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = 0;
        if (result == 0) say("sync", path, "");
        errno = error;
        return result;
      }

      static void say_send(int file, const struct iovec *parts, int count) {
        struct stat status;
        if (fstat(file, &status) || !S_ISSOCK(status.st_mode)) return;
        char number[16], text[4001];
        snprintf(number, sizeof number, "%d", file);
        size_t length = 0;
        for (int part = 0; part < count; part++) {
          for (size_t place = 0; place < parts[part].iov_len; place++) {
            length += snprintf(text + length, 3, "%02x", ((unsigned char *)parts[part].iov_base)[place]);
            if (length == sizeof text - 1) { say("send", number, text); length = 0; }
          }
        }
        if (length) say("send", number, text);
      }

      int fsync(int file) { return said_sync(file, NEXT(int, "fsync", int)(file)); }

      int fdatasync(int file) { return said_sync(file, NEXT(int, "fdatasync", int)(file)); }

      int rename(const char *from, const char *to) {
        say("rename", from, to);
        return NEXT(int, "rename", const char *, const char *)(from, to);
      }

      int unlink(const char *path) {
        say("unlink", path, "");
        return NEXT(int, "unlink", const char *)(path);
      }

      ssize_t write(int file, const void *bytes, size_t count) {
        struct iovec part = {(void *)bytes, count};
        say_send(file, &part, 1);
        return NEXT(ssize_t, "write", int, const void *, size_t)(file, bytes, count);
      }

      ssize_t writev(int file, const struct iovec *parts, int count) {
        say_send(file, parts, count);
        return NEXT(ssize_t, "writev", int, const struct iovec *, int)(file, parts, count);
      }

      ssize_t send(int file, const void *bytes, size_t count, int flags) {
        struct iovec part = {(void *)bytes, count};
        say_send(file, &part, 1);
        return NEXT(ssize_t, "send", int, const void *, size_t, int)(file, bytes, count, flags);
      }

      ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
        say_send(file, message->msg_iov, message->msg_iovlen);
        return NEXT(ssize_t, "sendmsg", int, const struct msghdr *, int)(file, message, flags);
      }
      """

    /// - Parameter name: tells the log from those of other processes.
    init(_ folder: TemporaryFolder, _ name: String = "disk-order") throws {
      (library, log) = (folder["\(name).so"], folder["\(name).log"])
      try compile(DiskOrder.source, to: library)
    }

    var environment: [String: String] { ["LD_PRELOAD": library.path, "DISK_ORDER": log.path] }

    /// `sync`, once it is done, or `unlink` and a path, `rename` and two, or `send` and the kind of a frame of the wire, before
    /// it is.
    func calls() throws -> [[String]] {
      var streams: [String: Stream] = [:]
      var calls: [[String]] = []
      for line in try String(contentsOf: log, encoding: .utf8).split(separator: "\n") {
        let call = line.split(separator: "\t").map(String.init)
        guard call[0] == "send" else {
          calls.append(call)
          continue
        }
        for kind in streams[call[1], default: Stream()].kinds(begunIn: call[2]) { calls.append(["send", kind]) }
      }
      return calls
    }

    /// What goes through one socket, as hexadecimal digits (W-1).
    private struct Stream {
      private var head = ""
      private var lacking = 0

      mutating func kinds(begunIn text: String) -> [String] {
        var (rest, kinds) = (text[...], [String]())
        while !rest.isEmpty {
          let skipped = min(lacking, rest.count)
          lacking -= skipped
          rest = rest.dropFirst(skipped)
          let more = rest.prefix(lacking == 0 ? 10 - head.count : 0)
          head += more
          rest = rest.dropFirst(more.count)
          guard head.count == 10 else { continue }
          lacking = 2 * (Int(head.prefix(8), radix: 16) ?? 0)
          kinds.append(UInt8(head.suffix(2), radix: 16).flatMap(Frame.Kind.init(rawValue:)).map { "\($0)" } ?? "noise")
          head = ""
        }
        return kinds
      }
    }
  }
#endif
