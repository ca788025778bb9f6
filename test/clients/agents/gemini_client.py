"""One call of the unmodified Gemini client (google-genai), reported as one JSON line."""
import json
import sys

from google import genai
from google.genai import errors

client = genai.Client()
MODEL = "gemini-2.5-flash"
CALLS = {
    "allowed": lambda: client.models.generate_content(model=MODEL, contents="hi").text,
    "denied": lambda: client.files.delete(name="files/f1"),
    "held": lambda: client.batches.create(model=MODEL, src=[{"contents": [{"parts": [{"text": "hi"}]}]}]).name,
    "stream": lambda: "".join(
        part.text for part in client.models.generate_content_stream(model=MODEL, contents="hi")
    ),
}
try:
    print(json.dumps({"ok": True, "value": str(CALLS[sys.argv[1]]())}))
except errors.APIError as error:
    answer = {"ok": False, "status": error.code, "kind": error.status, "message": error.message}
    print(json.dumps(answer))
