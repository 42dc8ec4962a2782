"""The game of section 6.4: people and DeLAMA agents learn lines together."""
