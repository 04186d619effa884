"""Whether an MPI launcher has started this process: known from the environment, without loading anything."""

from __future__ import annotations

import os


def launched() -> int:
    """Return how many processes a launcher has started together; 1 where there was none.

    Open MPI, MPICH and its relatives (Intel MPI, Cray), and Slurm's srun each say it in the environment.
    """
    names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] + ["SLURM_NTASKS"] * ("PMIX_RANK" in os.environ)
    sizes = [os.environ[name] for name in names if name in os.environ]
    return max((int(size) for size in sizes if size.isdecimal()), default=1)


def launched_rank() -> int:
    """Return the number of this process among them, as the launcher counts."""
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    ranks = [os.environ[name] for name in names if name in os.environ]
    return max((int(rank) for rank in ranks if rank.isdecimal()), default=0)
