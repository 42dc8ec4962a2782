"""Recorded laser scans with poses, from bags and CARMEN logs: read, written, mapped by a swarm."""
