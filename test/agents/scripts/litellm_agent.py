import json
import os

import litellm
from create_issue import create_issue

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "create_issue",
            "description": "Creates an issue",
            "parameters": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
            },
        },
    }
]
messages = [{"role": "user", "content": os.environ["PROMPT"]}]
for _ in range(3):
    chunks = list(
        litellm.completion("anthropic/claude-sonnet-4-5", messages=messages, tools=TOOLS, stream=True)
    )
    message = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
    if not message.tool_calls:
        print(message.content)
        break
    messages.append(message.model_dump())
    for call in message.tool_calls:
        result = create_issue(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
