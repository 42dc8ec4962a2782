"""The paper's experiments, the methods they compare with, and how results are tabulated."""
