"""A scripted model server, for tests of real CLIs: loopback only, no model, no network.

It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions; what it answers stands in
the prompt (see `agentd.testing.model.script`).

    with ScriptedModel() as model:
        ...  # a CLI whose base URL is model.url (Anthropic) or model.url + "/v1" (OpenAI)
        model.wait_for(lambda request: request.directive is not None, deadline=10)
"""

from agentd.testing.model.script import Directive
from agentd.testing.model.server import Outcome, Request, ScriptedModel

__all__ = ["Directive", "Outcome", "Request", "ScriptedModel"]
