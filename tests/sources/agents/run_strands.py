"""An agent of strands with its own instrumentation, which captures content by default."""

from exporting import QUESTION, SCRIPT, SESSION, exporting, fail, search
from opentelemetry import trace
from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def read_config(path: str) -> str:
    """Read a file of the configuration.

    Args:
        path: Where it is.
    """
    raise PermissionError(fail(path))


with exporting() as provider:
    trace.set_tracer_provider(provider)
    Agent(
        model=OpenAIModel(model_id=SCRIPT),
        tools=[read_config, tool(search)],
        name="coder",
        callback_handler=None,
        trace_attributes={"session.id": SESSION},
    )(QUESTION)
