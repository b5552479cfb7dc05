"""A job on the backbone's disk: the newest durable state, the last term used, whether the job is over."""

from pathlib import Path

from trainer.market.outbox import write_durably

STATE, TERM, OVER = "state.safetensors", "term", "over"


class JobFolder:
    def __init__(self, home: Path, job: str) -> None:
        self.path = home / "jobs" / job
        self.path.mkdir(parents=True, exist_ok=True)

    def next_term(self) -> int:
        """One more than any term before, durable before it is used: old parts can never be taken for new ones."""
        path = self.path / TERM
        term = int(path.read_text()) + 1 if path.exists() else 1
        write_durably(path, str(term).encode())
        return term

    def save_state(self, state: bytes) -> None:
        write_durably(self.path / STATE, state)

    def find_state(self) -> bytes | None:
        path = self.path / STATE
        return path.read_bytes() if path.exists() else None

    def mark_over(self) -> None:
        """The end is told to the market through the outbox; here nothing more is to be done for this job."""
        write_durably(self.path / OVER, b"")
        (self.path / STATE).unlink(missing_ok=True)

    @property
    def is_over(self) -> bool:
        return (self.path / OVER).exists()
