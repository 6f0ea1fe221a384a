"""What happens to a data set: judged, kept in a folder, scored again, verified, compared, gated, carded."""
