"""The error that says which plan is wrong, where, and what was expected."""


class PlanError(ValueError):
    """A floor plan, map or waypoint file cannot be used as given."""
