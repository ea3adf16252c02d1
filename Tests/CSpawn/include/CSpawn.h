#pragma once

#include <sys/types.h>

/// Starts a program with three open files as its standard input, output and errors and no other ones.
///
/// - Parameters:
///   - folder: its working directory; NULL for this process's.
/// - Returns: 0, or an error number.
int c_spawn(pid_t *process, const char *path, char *const arguments[], char *const environment[], const char *folder,
            const int files[3]);
