#pragma once
#include "leap_cuda.h"
#include "leap_cuda/libcu.h"
