"""The only place that speaks tmux: one private server, one session an agent, text that arrives whole."""
