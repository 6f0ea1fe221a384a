"""Statistics: intervals of means, and tests whether two runs differ. Arithmetic only, and seeded."""
