"""An agent of pydantic-ai with its own instrumentation, which captures content by default."""

from exporting import MOST_TURNS, QUESTION, SCRIPT, SESSION, exporting, fail, search
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel

agent = Agent(OpenAIChatModel(SCRIPT), name="coder", retries=MOST_TURNS)
agent.tool_plain(search)


@agent.tool_plain
def read_config(path: str) -> str:
    """Read a file of the configuration."""
    raise ModelRetry(fail(path))


with exporting() as provider:
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    agent.run_sync(QUESTION, conversation_id=SESSION)
