#include "runtime/base/thread_pool.h"
