#define _GNU_SOURCE
#include "CSpawn.h"

#include <signal.h>
#include <spawn.h>

int c_spawn(pid_t *process, const char *path, char *const arguments[], char *const environment[], const char *folder,
            const int files[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (error) {
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }
  for (int number = 0; number < 3 && !error; number++)
    error = posix_spawn_file_actions_adddup2(&actions, files[number], number);
  // What this process ignores would be ignored by the child as well.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!error) error = posix_spawnattr_setsigdefault(&attributes, &signals);
  short flags = POSIX_SPAWN_SETSIGDEF;
  if (folder && !error) error = posix_spawn_file_actions_addchdir_np(&actions, folder);
#ifdef __APPLE__
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
  if (!error) error = posix_spawnattr_setflags(&attributes, flags);
  if (!error) error = posix_spawn(process, path, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}
