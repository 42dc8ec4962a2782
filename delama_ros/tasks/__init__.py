"""The experiments of the paper as tasks that DeLAMA and what it is compared with learn alike."""
