#include "COpening.h"

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
