"""What touches the machine: files, processes, versions, the network that is refused."""
