"""The game of section 6.4: people and agents learn lines together."""
