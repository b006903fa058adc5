/// Where a process stands among those that train together, as torchrun, srun or a user by hand say it.
#pragma once

#include <string>

namespace leap::training {

struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;   ///< among those of the same machine: which GPU
  std::string address;  ///< of rank 0's machine; unused by one process
  int port = 0;
  /// torchrun keeps the meeting point itself; this names the part of it that is this run's. Empty: rank 0
  /// keeps it.
  std::string agent_prefix;
};

/// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; where RANK and WORLD_SIZE are absent,
/// SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID in a step of srun. None: one process. Throws UsageError.
Placement placement_from_environment();

}  // namespace leap::training
