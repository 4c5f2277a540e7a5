"""An agent of openai-agents with the instrumentation of OpenInference or Traceloop."""

from agents import Agent, Runner, function_tool, set_trace_processors
from exporting import INSTRUMENTATION, MOST_TURNS, QUESTION, SCRIPT, SESSION, exporting, fail, search
from openinference.instrumentation import using_session

if INSTRUMENTATION == "traceloop":
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor
else:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor


@function_tool
def read_config(path: str) -> str:
    """Read a file of the configuration."""
    raise PermissionError(fail(path))


set_trace_processors([])  # the SDK's own would send everything to its maker

with exporting() as provider:
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    agent = Agent(name="coder", model=SCRIPT, tools=[read_config, function_tool(search)])
    with using_session(SESSION):
        Runner.run_sync(agent, QUESTION, max_turns=MOST_TURNS)
