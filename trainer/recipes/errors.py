"""What goes wrong with recipes, their data and their checkpoints. Nothing here is worth retrying unchanged.

RecipeError (trainer.errors.InputError)
                               fix the input: an unknown recipe, or a parameter out of bounds (`parameter` says which)
├── ShardError                 fetch the file again, or stop: a release file is not what its format says (`file`, `line`)
├── QuestionError              fix the input: a file given to predict on cannot be read as the recipe's modality
└── CheckpointError            stop: a checkpoint is damaged, or made by a recipe this version does not have
"""

from trainer.errors import InputError, Remedy


class RecipeError(InputError):
    """`parameter` names what to change ("" where no parameter is at fault); `message` says how, in words."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.message = message


class ShardError(RecipeError):
    """`line` counts from 1; None where the file as a whole is at fault."""

    remedy = Remedy.STOP

    def __init__(self, file: str, line: int | None, message: str) -> None:
        super().__init__("", f"{file}:{line}: {message}" if line is not None else f"{file}: {message}")
        self.file = file
        self.line = line


class QuestionError(RecipeError):
    """A file the user named for predict; `file` says which."""

    def __init__(self, file: str, message: str) -> None:
        super().__init__("", f"{file}: {message}")
        self.file = file


def why(exc: Exception) -> str:
    """What an exception says, for people: without error numbers, repeated paths, or objects in memory.

    >>> why(FileNotFoundError(2, "No such file or directory", "a.png"))
    'No such file or directory'
    """
    return exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)


class CheckpointError(RecipeError):
    """`file` is the checkpoint's name, where it has one."""

    remedy = Remedy.STOP

    def __init__(self, file: str, message: str) -> None:
        super().__init__("", f"{file}: {message}" if file else message)
        self.file = file
