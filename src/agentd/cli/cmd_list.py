"""`agentd list`."""

from __future__ import annotations

import click

from agentd.cli.face import Face, common, out


@click.command()
@common
@click.pass_obj
def command(face: Face) -> None:
    """List all agents, with what each one does.

    \b
    States:
      starting   its CLI starts up             retired  idle and ended; the next prompt resumes it
      ready      it waits for a prompt         stopped  ended by `agentd stop`
      working    a turn runs                   failed   its CLI did not start or ended by itself
      attention  it waits for a person         lost     what became of it is not known
    TURN/QUEUE is the running turn, and after the slash the number of messages that wait for it.

    \b
    Examples:
      agentd list
      agentd list --json | jq -r '.[] | select(.state == "attention").name'

    \b
    Exit codes:
      0  done    1  failed    2  usage    6  no daemon
    """
    agents = face.ask("GET", "/v1/agents")
    if face.json:
        face.emit(agents)
        return
    from agentd.cli.table import ago, state_of, table

    if not agents:
        out("no agents; start one with `agentd send PROVIDER PROMPT`")
        return
    rows = [
        (
            agent["name"],
            agent["provider"],
            state_of(agent),
            f"{agent['turn'] or '-'}/{agent['queued']}",
            agent["cwd"],
            ago(agent["last_used_at"]),
        )
        for agent in agents
    ]
    out(table(("NAME", "PROVIDER", "STATE", "TURN/QUEUE", "CWD", "LAST USED"), rows))
