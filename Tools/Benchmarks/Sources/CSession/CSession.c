#include "CSession.h"
