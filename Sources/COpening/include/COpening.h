#ifndef C_OPENING_H
#define C_OPENING_H

#include <stddef.h>
#include <stdint.h>

/// A storage whose wrappers are being made, one after the other, on this thread.
typedef struct {
  /// A reference that is owned.
  void *_Nonnull storage;
  /// The places of its type's wrappers; they stay for good.
  const void *_Nonnull places;
  /// Where the first wrapper's file name stands in memory.
  const void *_Nonnull file;
  /// How many they are.
  int32_t count;
  /// The slot that the next wrapper gets.
  int32_t next;
} COpening;

enum { COpeningDepth = 8 };

/// The thread's storages that are not full yet, the innermost last.
typedef struct {
  COpening stack[COpeningDepth];
  int32_t depth;
  /// The type that was opened last.
  const void *_Nullable type;
  /// A queue of instances that are being released, or NULL.
  void *_Nullable releases;
  /// Who is told of values that are read without being set, or NULL.
  void *_Nullable recorder;
} COpenings;

/// The calling thread's own. (Swift has no thread-local variables that cost less than the storage itself.)
COpenings *_Nonnull c_openings(void);

/// How many bytes may be read from where an allocation begins.
size_t c_allocation_size(const void *_Nonnull start);

/// Has a program that is started with a `posix_spawn_file_actions_t` close all files from one number on, whatever others
/// open here meanwhile.
///
/// - Returns: 0, or an error number; ENOSYS where the system knows no such action.
int c_close_from(void *_Nonnull actions, int first);

#endif
