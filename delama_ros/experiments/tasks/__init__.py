"""Learning tasks of the paper, the learners trained on them, and their evaluation."""
