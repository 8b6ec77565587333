"""The consumer stages. Each imports ports only."""
