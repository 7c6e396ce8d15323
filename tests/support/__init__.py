"""What the tests share: a real daemon with a home of its own, panes to look at, and waiting for facts."""
