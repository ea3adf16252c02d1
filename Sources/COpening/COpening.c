// For what is no part of POSIX yet.
#define _GNU_SOURCE
#include "COpening.h"

#include <errno.h>
#include <spawn.h>

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

static _Thread_local COpenings openings;

COpenings *c_openings(void) { return &openings; }

size_t c_allocation_size(const void *start) {
#ifdef __APPLE__
  return malloc_size(start);
#else
  return malloc_usable_size((void *)start);
#endif
}

// Other systems' preprocessors do not read the second condition.
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define HAS_CLOSE_FROM
#endif
#endif

int c_close_from(void *actions, int first) {
#ifdef HAS_CLOSE_FROM
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
  (void)actions;
  (void)first;
  return ENOSYS;
#endif
}
