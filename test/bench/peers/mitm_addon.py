"""Governance of the same depth as governance.mjs, for mitmdump."""
import json
import os
import time

PERMISSIONS = {f"llm_a.bench_{i}.create": "allow" for i in range(999)}
PERMISSIONS["llm_a.chat.create"] = "allow"
RECORDS = open(os.environ["RECORDS_FILE"], "a", buffering=65536)
UPSTREAM = int(os.environ["UPSTREAM_PORT"])


def server_connect(data):
    data.server.address = ("127.0.0.1", UPSTREAM)
    data.server.sni = "api.openai.com"


def request(flow):
    is_chat = flow.request.method == "POST" and flow.request.path == "/v1/chat/completions"
    flow.metadata["action"] = "llm_a.chat.create" if is_chat else "llm_a.unmapped." + flow.request.method.lower()
    flow.request.headers["authorization"] = "Bearer sk-bench-injected"


def responseheaders(flow):
    flow.response.stream = True


def response(flow):
    row = {"time": time.time(), "agent": "bench", "action": flow.metadata["action"], "status": flow.response.status_code}
    RECORDS.write(json.dumps(row) + "\n")


def done():
    RECORDS.close()
