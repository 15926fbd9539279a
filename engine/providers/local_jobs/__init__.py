"""Provider batches as jobs of a program on this machine: `vllm run-batch`, or whatever reads and writes the same files."""
