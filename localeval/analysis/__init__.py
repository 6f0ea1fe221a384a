"""What runs tell beside scores: comparisons, gates, agreement with people, and fits on labels."""
