#pragma once
#include "leap_cuda/wmma.h"
