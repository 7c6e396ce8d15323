"""The private server's configuration: nothing of the user's own tmux configuration applies."""

CONFIG = """\
# Written by agentd at every start of its private tmux server; changes are lost.
set -s escape-time 10
set -s exit-empty on
set -s extended-keys on
set -g default-terminal "screen-256color"
set -as terminal-features ",*:RGB"
set -g focus-events on
set -g history-limit 20000
# A dead CLI must stay to be looked at, and no text may cover its last line.
set -g remain-on-exit on
set -gq remain-on-exit-format ""
set -g update-environment ""
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g visual-activity off
set -g monitor-activity off
set -g monitor-bell off
set -g destroy-unattached off
set -g detach-on-destroy on
set -g status-left "#[bold] #S #[default]"
set -g status-left-length 60
set -g status-right " detach: #{prefix} d "
set -g window-status-format ""
set -g window-status-current-format ""
"""
