"""Meta-training that every task shares: settings of a run, the loop, several processes, curves."""
