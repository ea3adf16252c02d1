// SQLite's session extension (https://sqlite.org/session.html), which the system's library exports, and whose declarations its header
// shows only with SQLITE_ENABLE_SESSION; and zlib.
#ifndef CSESSION_H
#define CSESSION_H

#include <zlib.h>

struct sqlite3;
typedef struct sqlite3_session sqlite3_session;
typedef struct sqlite3_changeset_iter sqlite3_changeset_iter;

int sqlite3session_create(struct sqlite3 *db, const char *name, sqlite3_session **session);
void sqlite3session_delete(sqlite3_session *session);
int sqlite3session_attach(sqlite3_session *session, const char *table);
int sqlite3session_changeset(sqlite3_session *session, int *count, void **changeset);
int sqlite3changeset_apply(
    struct sqlite3 *db, int count, void *changeset, int (*filter)(void *context, const char *table),
    int (*conflict)(void *context, int kind, sqlite3_changeset_iter *change), void *context);
int sqlite3changeset_start(sqlite3_changeset_iter **change, int count, void *changeset);
int sqlite3changeset_next(sqlite3_changeset_iter *change);
int sqlite3changeset_finalize(sqlite3_changeset_iter *change);

#endif
