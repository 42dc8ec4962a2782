"""Methods that DeLAMA is compared with, batched over tasks and agents."""
