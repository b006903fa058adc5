#pragma once
#include "leap_cuda/random.h"
