"""From a file to its text: what it is (`detection`), and what it says (`sandbox`, which has it read by a child)."""
