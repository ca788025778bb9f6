"""One call of an unmodified gRPC client, set up by its environment alone; prints what its user would see as JSON."""
import json
import queue
import sys

import grpc

host, name = sys.argv[1], sys.argv[2]
channel = grpc.secure_channel(host + ":443", grpc.ssl_channel_credentials())
path = "/notes.v1.Notes/" + name


def chat():
    outgoing = queue.SimpleQueue()
    answers = channel.stream_stream(path)(iter(outgoing.get, None), timeout=30)
    said = []
    for number in range(5):
        outgoing.put(b"message %d" % number)
        said.append(next(answers).decode())
    outgoing.put(None)
    assert next(answers, None) is None
    return ", ".join(said)


def unary():
    metadata = [("authorization", "Bearer agents-own")]
    return channel.unary_unary(path)(b"hello", timeout=30, metadata=metadata).decode()


try:
    print(json.dumps({"ok": True, "value": chat() if name == "Chat" else unary()}))
except grpc.RpcError as error:
    print(json.dumps({"ok": False, "code": error.code().name, "details": error.details()}))
