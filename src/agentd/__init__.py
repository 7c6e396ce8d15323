"""agentd keeps coding-agent CLIs alive in tmux panes and says truthfully what became of each prompt."""

__version__ = "0.1.0"
