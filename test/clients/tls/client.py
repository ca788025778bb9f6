"""Connects to each case over TLS and prints `HOST ok` or `HOST refused ERROR`."""
import json, socket, ssl, sys

context = ssl.create_default_context(cafile=sys.argv[2])
for case in json.load(open(sys.argv[1])):
    try:
        with socket.create_connection(("127.0.0.1", case["port"]), 10) as raw:
            with context.wrap_socket(raw, server_hostname=case["host"]):
                print(case["host"], "ok")
    except (ssl.SSLError, ValueError, OSError) as error:
        print(case["host"], "refused", error)
