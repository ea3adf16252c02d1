// For what is no part of POSIX yet.
#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __APPLE__
#include <malloc/malloc.h>
#include <sys/attr.h>
#include <sys/mount.h>
#include <unistd.h>
#else
#include <fcntl.h>
#include <malloc.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#endif

static _Thread_local COpenings openings;

COpenings *c_openings(void) { return &openings; }

static void (*_Nullable let_go)(COpenings *_Nonnull);

static void end_thread(void *of_thread) {
  COpenings *ended = of_thread;
  // What is let go of may open others.
  ended->isWatched = false;
  __atomic_load_n(&let_go, __ATOMIC_ACQUIRE)(ended);
}

#ifdef __APPLE__
// What C++ registers destructors of its thread-local variables with. A key's destructor would come after the variables are gone.
extern void _tlv_atexit(void (*_Nonnull end)(void *_Nullable), void *_Nullable of_thread);
#else
static pthread_once_t watching = PTHREAD_ONCE_INIT;
static pthread_key_t watched;

static void watch(void) { pthread_key_create(&watched, end_thread); }
#endif

void c_watch_end(COpenings *of_thread, void (*end)(COpenings *)) {
  __atomic_store_n(&let_go, end, __ATOMIC_RELEASE);
#ifdef __APPLE__
  _tlv_atexit(end_thread, of_thread);
  of_thread->isWatched = true;
#else
  pthread_once(&watching, watch);
  of_thread->isWatched = pthread_setspecific(watched, of_thread) == 0;
#endif
}

size_t c_allocation_size(const void *start) {
#ifdef __APPLE__
  return malloc_size(start);
#else
  return malloc_usable_size((void *)start);
#endif
}

// Other systems' preprocessors do not read the second condition.
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 28)
#define HAS_BIRTH
#endif
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

static uint64_t nanoseconds(int64_t seconds, int64_t rest) { return (uint64_t)seconds * 1000000000 + (uint64_t)rest; }

bool c_file_birth(const char *path, uint64_t *born, uint64_t *volume) {
  *born = *volume = 0;
  struct statfs mounted;
  if (statfs(path, &mounted) != 0) return false;
#ifdef __APPLE__
  // What statfs calls the volume is the number of the device there.
  struct attrlist wanted = {.bitmapcount = ATTR_BIT_MAP_COUNT, .volattr = ATTR_VOL_INFO | ATTR_VOL_UUID};
  struct __attribute__((packed)) {
    uint32_t length;
    uint64_t halves[2];
  } found = {0};
  if (getattrlist(mounted.f_mntonname, &wanted, &found, sizeof found, 0) == 0) *volume = found.halves[0] ^ found.halves[1];
  struct stat status;
  if (stat(path, &status) != 0) return false;
  *born = nanoseconds(status.st_birthtimespec.tv_sec, status.st_birthtimespec.tv_nsec);
#elif defined(HAS_BIRTH)
  memcpy(volume, &mounted.f_fsid, sizeof *volume);
  struct statx status;
  if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return false;
  *born = nanoseconds(status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
#endif
  return *born != 0;
}

bool c_may_be_mounted(uint64_t device) {
  bool is_found = false;
#ifdef __APPLE__
  struct statfs *mounts = NULL;
  int count = getmntinfo_r_np(&mounts, MNT_NOWAIT);
  if (count <= 0) return true;
  for (int index = 0; index < count; index++) {
    if ((uint64_t)(int64_t)mounts[index].f_fsid.val[0] == device) is_found = true;
  }
  free(mounts);
#else
  FILE *mounts = fopen("/proc/self/mountinfo", "re");
  if (mounts == NULL) return true;
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, mounts) > 0) {
    unsigned major_number, minor_number;
    if (sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2) continue;
    if ((uint64_t)makedev(major_number, minor_number) == device) is_found = true;
  }
  if (ferror(mounts)) is_found = true;
  free(line);
  fclose(mounts);
#endif
  return is_found;
}
