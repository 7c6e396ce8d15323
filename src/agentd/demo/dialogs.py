"""Questions to a person: what they show, and which keys answer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentd.demo.keys import Key, Paste, Press, Typed

CONFIRM_HINT = "Enter to confirm · Esc to cancel"


class Dialog:
    """A menu, or a bare text if it has no options. `answer` is called with the chosen option's index, or
    with None when a person turned away (Escape)."""

    def __init__(
        self,
        text: Sequence[str],
        options: Sequence[str],
        answer: Callable[[int | None], None],
        *,
        numbered: bool = True,
    ) -> None:
        self.text = text
        self.options = (
            [f"{i}. {option}" for i, option in enumerate(options, 1)] if numbered else list(options)
        )
        self.selected = 0 if options else -1
        self.hint = CONFIRM_HINT if options else ""
        self._answer = answer
        self._numbered = numbered

    def __repr__(self) -> str:
        return f"<Dialog {self.text[0]!r}: {self.options}, {self.selected} selected>"

    def press(self, press: Press) -> None:
        """A paste or a stray letter does nothing; Enter takes whatever is selected."""
        if not self.options or isinstance(press, Paste):
            return
        if isinstance(press, Typed):
            for letter in press.text:
                if self._numbered and letter.isdecimal() and 1 <= int(letter) <= len(self.options):
                    self._answer(int(letter) - 1)
                    return
            return
        self._press(press)

    def _press(self, key: Key) -> None:
        match key.name:
            case "up":
                self.selected = (self.selected - 1) % len(self.options)
            case "down":
                self.selected = (self.selected + 1) % len(self.options)
            case "enter":
                self._answer(self.selected)
            case "escape":
                self._answer(None)


def trust(folder: str, answer: Callable[[int | None], None]) -> Dialog:
    """The dangerous one: Enter without looking ends the program."""
    text = [
        "Accessing workspace:",
        "",
        folder,
        "",
        "Quick safety check: Is this a project you created or one you trust? The demo agent will be able to "
        "run commands here.",
        "",
    ]
    return Dialog(text, ["No, exit", "Yes, I trust this folder"], answer, numbered=False)


def update(answer: Callable[[int | None], None]) -> Dialog:
    """Another one: the preselected line runs an installer."""
    text = ["✨ Update available! 1.0.0 -> 1.0.1", ""]
    return Dialog(text, ["Update now (runs the installer)", "Skip"], answer)


def login() -> Dialog:
    """No key helps."""
    return Dialog(["Not logged in", "", "Press any key to log in…"], [], lambda _: None)


def approval(question: str, answer: Callable[[int | None], None]) -> Dialog:
    return Dialog([*(question.split("\n")), "", "Do you want to proceed?"], ["Yes", "No"], answer)
