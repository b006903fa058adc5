// The one function of the library that holds local models; everything else in it stays hidden.
#include "model/local_backend.hpp"

extern "C" leap::sampling::Backend* leap_make_local_backend(const leap::sampling::LocalOptions& options) {
  return leap::model::make_local_backend(options).release();
}
