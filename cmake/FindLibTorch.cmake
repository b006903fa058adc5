# Finds LibTorch and defines LibTorch::LibTorch. Looked at, in this order: LibTorch_ROOT and CMAKE_PREFIX_PATH (an
# unpacked LibTorch, or a Python package's torch directory), then the project's Python environment LEAP_VENV.
#
# Only libtorch_cpu and libc10 are linked; with LEAP_CUDA=ON libtorch_cuda and libc10_cuda too. The Python package's own
# libtorch.so would draw in every CUDA library although nothing here needs them.
option(LEAP_CUDA "Link the CUDA part of LibTorch (needs a LibTorch with all its CUDA libraries)" OFF)

file(GLOB _leap_venv "${LEAP_VENV}/lib/python3*/site-packages/torch")
set(_leap_hints "")
foreach(_leap_prefix IN LISTS LibTorch_ROOT CMAKE_PREFIX_PATH)
  list(APPEND _leap_hints "${_leap_prefix}" "${_leap_prefix}/torch" "${_leap_prefix}/../..")
endforeach()

find_path(LibTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
  HINTS ${_leap_hints} ${_leap_venv} PATH_SUFFIXES include)
get_filename_component(_leap_root "${LibTorch_INCLUDE_DIR}" DIRECTORY)
foreach(_leap_lib IN ITEMS torch_cpu c10 torch_cuda c10_cuda)
  find_library(LibTorch_${_leap_lib} ${_leap_lib} HINTS ${_leap_root}/lib NO_DEFAULT_PATH)
endforeach()

foreach(_leap_header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(NOT LibTorch_VERSION AND EXISTS "${LibTorch_INCLUDE_DIR}/${_leap_header}")
    file(STRINGS "${LibTorch_INCLUDE_DIR}/${_leap_header}" _leap_v REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH)")
    string(REGEX REPLACE "[^0-9;]" "" _leap_v "${_leap_v}")
    string(REPLACE ";" "." LibTorch_VERSION "${_leap_v}")
  endif()
endforeach()

set(_leap_required LibTorch_torch_cpu LibTorch_c10 LibTorch_INCLUDE_DIR)
if(LEAP_CUDA)
  list(APPEND _leap_required LibTorch_torch_cuda LibTorch_c10_cuda)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS ${_leap_required} VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    ${LibTorch_INCLUDE_DIR} ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::LibTorch INTERFACE ${LibTorch_torch_cpu} ${LibTorch_c10})
  if(LEAP_CUDA)
    target_compile_definitions(LibTorch::LibTorch INTERFACE LEAP_CUDA=1)
    target_link_libraries(LibTorch::LibTorch INTERFACE
      "LINKER:--no-as-needed,${LibTorch_torch_cuda},${LibTorch_c10_cuda},--as-needed")
  endif()
  # libtorch_cpu of a CUDA wheel needs libcudart and libcupti: in the wheel's siblings or a CUDA toolkit.
  file(GLOB _leap_nvidia "${_leap_root}/../nvidia/*/lib")
  foreach(_leap_dir IN LISTS _leap_nvidia ITEMS /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64)
    file(GLOB _leap_found "${_leap_dir}/libcudart.so.*" "${_leap_dir}/libcupti.so.*")
    if(_leap_found)
      target_link_options(LibTorch::LibTorch INTERFACE "LINKER:-rpath-link,${_leap_dir}" "LINKER:-rpath,${_leap_dir}")
    endif()
  endforeach()
  # DT_RPATH, not RUNPATH: it also serves the look-ups of libtorch_cpu itself.
  target_link_options(LibTorch::LibTorch INTERFACE "LINKER:--disable-new-dtags")
endif()
