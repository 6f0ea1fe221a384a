"""Access to the machine: files, processes, versions, and the guard that refuses the network."""
