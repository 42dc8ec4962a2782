"""The error that a user can cure; `delama` shows it as one line, without a traceback."""


class UserError(Exception):
    """Wrong input: the text names the value and what to do."""
