"""An agent of LangChain, a graph of LangGraph, with the instrumentation of OpenInference or Traceloop."""

from exporting import INSTRUMENTATION, QUESTION, SCRIPT, SESSION, exporting, fail, search
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI

if INSTRUMENTATION == "traceloop":
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Instrumentor
else:
    from openinference.instrumentation.langchain import LangChainInstrumentor as Instrumentor


@tool
def read_config(path: str) -> str:
    """Read a file of the configuration."""
    raise ToolException(fail(path))


read_config.handle_tool_error = True

with exporting() as provider:
    Instrumentor().instrument(tracer_provider=provider)
    agent = create_agent(ChatOpenAI(model=SCRIPT), [read_config, tool(search)], name="coder")
    agent.invoke({"messages": [{"role": "user", "content": QUESTION}]}, {"metadata": {"thread_id": SESSION}})
