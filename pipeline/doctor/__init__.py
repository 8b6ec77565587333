"""What keeps a deployment from working, or will: looked for before anybody has to ask."""
