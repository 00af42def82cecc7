"""What goes wrong before a broker lets us in: settings that cannot be followed, and brokers that do not take us (or we
them). Neither passes by itself, so nobody tries it again."""

from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode


class SettingError(ValueError):
    """A setting that cannot be followed. The text begins with its name and never has its value, which may be a
    secret."""

    def __init__(self, setting: str, problem: str, step: str = "") -> None:
        super().__init__(setting, problem, step)
        self.setting = setting
        self.problem = problem
        self.step = step

    def __str__(self) -> str:
        return f"{self.setting}: {self.problem}" + (f"; {self.step}" if self.step else "")


class SecurityFailure(Exception):
    """A broker was reached, and the two sides did not come to terms."""

    def __init__(self, code: ErrorCode, message: str, step: str) -> None:
        super().__init__(code, message, step)
        self.code = code
        self.message = message
        self.step = step

    def as_client_error(self, asked: str, of: str) -> ClientError:
        return ClientError(self.code, asked, of, self.message, self.step)
