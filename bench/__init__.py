"""What kb takes: time, memory, processors."""

# First of all, because it has to come before numpy: it keeps its products to one thread.
import kb.engine  # noqa: F401 - for what it does
