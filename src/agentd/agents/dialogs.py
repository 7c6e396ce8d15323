"""Answering a dialog: read the lines, move to the wanted one, read back, and only then press Enter.

The preselected line can end the session, and the order of the lines changes between releases.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from agentd.adapter import Keys
from agentd.screen import Dialog, Look

REDRAW_S = 2.0
"""How long a CLI may take to redraw its dialog after a key."""


class DialogError(Exception):
    """The dialog can't be answered so. `code`: `none`, `choice` or `failed`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


async def answer(
    choice: str, look: Callable[[], Awaitable[Look]], press: Callable[[Keys], Awaitable[None]]
) -> None:
    """Answer the dialog on the screen with `approve`, `deny`, or an option's number (from 1).

    Raises:
        DialogError: no dialog, no such option, or the selection didn't move.
    """
    dialog = (await look()).dialog
    if dialog is None:
        raise DialogError("none", "there is no dialog on the screen to answer")
    if not answers(dialog):
        raise DialogError("choice", f"this can't be answered from here: {dialog.fixed or 'attach and look'}")
    await _give(dialog, choice, look, press)
    if dialog.index_of(choice) == dialog.deny and dialog.deny is not None:
        # Some CLIs ask why.
        after = await _changed(dialog, look)
        if after and after.completes:
            await press(Keys(after.completes))


async def _give(
    dialog: Dialog, choice: str, look: Callable[[], Awaitable[Look]], press: Callable[[Keys], Awaitable[None]]
) -> None:
    """Choose this."""
    if keys := {"approve": dialog.approve_keys, "deny": dialog.deny_keys}.get(choice):
        await press(Keys(keys))
        return
    wanted = dialog.index_of(choice)
    if wanted is None:
        raise DialogError("choice", f"{choice!r} is no answer here; possible: {', '.join(answers(dialog))}")
    if key := dialog.options[wanted].key:
        await press(Keys((key,)))
        return
    await _select(dialog, wanted, look, press)
    await press(Keys(("Enter",)))


def answers(dialog: Dialog) -> list[str]:
    """The choices that `answer` takes for this dialog."""
    words = ["approve"] if dialog.approve is not None or dialog.approve_keys else []
    if dialog.deny is not None or dialog.deny_keys:
        words.append("deny")
    return words + [str(option.number or place) for place, option in enumerate(dialog.options, 1)]


async def _select(
    dialog: Dialog, wanted: int, look: Callable[[], Awaitable[Look]], press: Callable[[Keys], Awaitable[None]]
) -> None:
    """Move the selection there, one key at a time, each read back."""
    for _ in range(3 * len(dialog.options)):
        if dialog.selected == wanted:
            return
        if dialog.selected is None:
            break
        await press(Keys(("Down" if dialog.selected < wanted else "Up",)))
        moved = await _changed(dialog, look)
        if moved is None or [o.label for o in moved.options] != [o.label for o in dialog.options]:
            break
        dialog = moved
    if dialog.selected != wanted:
        raise DialogError("failed", "the selection in the dialog didn't move as expected; nothing was chosen")


async def _changed(dialog: Dialog, look: Callable[[], Awaitable[Look]]) -> Dialog | None:
    """The dialog once its selection has changed; None if it never does, or the dialog is gone."""
    with trio.move_on_after(REDRAW_S):
        while True:
            now = (await look()).dialog
            if now is None or now.selected != dialog.selected:
                return now
            await trio.sleep(0.03)
    return None
