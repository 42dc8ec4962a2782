"""How well robots find each other's frame: found and false rates, errors, time."""
