#ifndef C_PLATFORM_H
#define C_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A storage whose wrappers are being made, one after the other, on this thread.
typedef struct {
  /// A reference that is owned.
  void *_Nonnull storage;
  /// The places of its type's wrappers; they stay for good.
  const void *_Nonnull places;
  /// In which order the slots are given, if not one after the other; for good as well.
  const int32_t *_Nullable order;
  /// Where the first wrapper's file name stands in memory.
  const void *_Nonnull file;
  /// How many they are.
  int32_t count;
  /// How many slots were given.
  int32_t next;
} COpening;

enum { COpeningDepth = 8 };

/// The thread's storages that are not full yet, the innermost last.
typedef struct {
  COpening stack[COpeningDepth];
  int32_t depth;
  /// Whether somebody lets go of them when the thread ends.
  bool isWatched;
  /// The type that was opened last.
  const void *_Nullable type;
  /// A queue of instances that are being released, or NULL.
  void *_Nullable releases;
  /// Who is told of values that are read without being set, or NULL.
  void *_Nullable recorder;
} COpenings;

/// The calling thread's own. (Swift has no thread-local variables that cost less than the storage itself.)
COpenings *_Nonnull c_openings(void);

/// Has somebody let go of the calling thread's storages when it ends.
///
/// - Parameter end: the same one for all threads.
void c_watch_end(COpenings *_Nonnull, void (*_Nonnull end)(COpenings *_Nonnull));

/// How many bytes may be read from where an allocation begins.
size_t c_allocation_size(const void *_Nonnull start);

/// Has a program that is started with a `posix_spawn_file_actions_t` close all files from one number on, whatever others
/// open here meanwhile.
///
/// - Returns: 0, or an error number; ENOSYS where the system knows no such action.
int c_close_from(void *_Nonnull actions, int first);

/// When a file was made, in nanoseconds since 1970, and what its volume calls itself, which stays the same where the number
/// of the device does not; 0 where it has no name.
///
/// - Returns: whether the system knows when.
bool c_file_birth(const char *_Nonnull path, uint64_t *_Nonnull born, uint64_t *_Nonnull volume);

/// Whether a volume is mounted now under a device's number, or nobody knows.
bool c_may_be_mounted(uint64_t device);

#endif
