"""One call of an unmodified Python client (requests or httpx), reported as one JSON line."""
import json
import os
import sys

library, call = sys.argv[1], sys.argv[2]
headers = {"Authorization": "token " + os.environ["GITHUB_TOKEN"]}
base = "https://api.github.com/repos/acme/site"
CALLS = {
    "allowed": ("POST", base + "/issues", {"title": "hello"}),
    "denied": ("DELETE", base + "/git/refs/heads%2Ffeature%2Fa", None),
    "held": ("PUT", base + "/pulls/7/merge", {"merge_method": "squash"}),
}
method, url, body = CALLS[call]
if library == "requests":
    import requests

    answer = requests.request(method, url, json=body, headers=headers, timeout=60)
else:
    import httpx

    answer = httpx.request(method, url, json=body, headers=headers, timeout=60)
print(json.dumps({"ok": answer.status_code < 300, "status": answer.status_code, "message": answer.text}))
