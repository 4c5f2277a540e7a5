"""An agent of openai-agents with the instrumentation of OpenInference."""

from agents import Agent, Runner, function_tool
from exporting import MOST_TURNS, QUESTION, SCRIPT, SESSION, exporting, fail, search
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor


@function_tool
def read_config(path: str) -> str:
    """Read a file of the configuration."""
    raise PermissionError(fail(path))


with exporting("openai-agents") as provider:
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider, exclusive_processor=True)
    agent = Agent(name="coder", model=SCRIPT, tools=[read_config, function_tool(search)])
    with using_session(SESSION):
        Runner.run_sync(agent, QUESTION, max_turns=MOST_TURNS)
