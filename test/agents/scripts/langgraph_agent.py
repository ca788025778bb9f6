import os

from create_issue import create_issue
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

model = ChatOpenAI(model="gpt-5", streaming=os.environ.get("STREAMING") == "1").bind_tools([create_issue])
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode([create_issue]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
result = graph.compile().invoke({"messages": [("user", os.environ["PROMPT"])]})
print(result["messages"][-1].content)
