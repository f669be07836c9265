"""What a size in MB means, wherever one is set, told or compared."""

BYTES_PER_MB = 1_048_576
