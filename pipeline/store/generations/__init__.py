"""Generations of tables and the pointer to the active one."""
