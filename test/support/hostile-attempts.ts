/** Python program that prints `DONE` after the statement, or the error. */
export const attempt = (statement: string) => `
import os, socket, ctypes
try:
  ${statement}
  print('DONE')
except Exception as e:
  print(type(e).__name__, e)
`

export const connect = (family: string, address: string, port: number) =>
  attempt(
    `s = socket.socket(socket.${family}); s.settimeout(2); s.connect(('${address}', ${port})); s.sendall(b'hello\\n'); print('ANSWER', s.recv(99))`,
  )
export const datagram = (family: string, address: string, port: number) =>
  attempt(
    `s = socket.socket(socket.${family}, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'x' * 40, ('${address}', ${port})); print('ANSWER', s.recv(99))`,
  )

/** Statements for which a process needs a privilege. */
export const PRIVILEGES: ReadonlyArray<readonly [what: string, statement: string]> = [
  ['open a raw socket', 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'],
  ['open a packet socket', 'socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'],
  ['mark its packets', 's = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 36, 1)'],
  [
    'enter another network',
    "assert ctypes.CDLL(None, use_errno=True).setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0) == 0, os.strerror(ctypes.get_errno())",
  ],
  [
    'have a network of its own',
    'assert ctypes.CDLL(None, use_errno=True).unshare(0x40000000) == 0, os.strerror(ctypes.get_errno())',
  ],
  [
    'mount',
    "assert ctypes.CDLL(None, use_errno=True).mount(b'x', b'/mnt', b'tmpfs', 0, None) == 0, os.strerror(ctypes.get_errno())",
  ],
  [
    'trace the proxy',
    'assert ctypes.CDLL(None, use_errno=True).ptrace(16, 7, 0, 0) == 0, os.strerror(ctypes.get_errno())',
  ],
]

/** Programs that send to addresses at which no host answers. */
export const WAYS_OUT: ReadonlyArray<readonly [what: string, program: string]> = [
  ['TCP to an address, any port', connect('AF_INET', '198.51.100.7', 22)],
  ['TCP to an address, 443', connect('AF_INET', '198.51.100.7', 443)],
  ['TCP to an address, 80', connect('AF_INET', '198.51.100.7', 80)],
  ['TCP over IPv6', connect('AF_INET6', '2001:db8:ffff::7', 443)],
  ['DNS over TLS', connect('AF_INET', '198.51.100.7', 853)],
  ['UDP', datagram('AF_INET', '198.51.100.7', 5000)],
  ['QUIC', datagram('AF_INET', '198.51.100.7', 443)],
  ['UDP over IPv6', datagram('AF_INET6', '2001:db8:ffff::7', 443)],
  ['DNS to a server of its own', datagram('AF_INET', '198.51.100.7', 53)],
  [
    'SCTP',
    attempt(
      "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132); s.settimeout(2); s.connect(('198.51.100.7', 443))",
    ),
  ],
  [
    'ICMP',
    attempt(
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1); s.settimeout(1); s.sendto(bytes([8,0,0,0,0,0,0,0]), ('198.51.100.7', 0)); s.recv(99)",
    ),
  ],
]
