import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { captureRules } from '../../core/capture/rules.ts'
import { createPodNetwork, noNamespaces, type PodNetwork } from './network.ts'

const reason = noNamespaces()
const title = reason === null ? '' : ` (skipped: ${reason})`
const PROXY = 1_912_345_678
const AGENT = 1000

/**
 * Connection tracking stores the destination of a UDP flow for minutes, by addresses and ports and not by user, and skips the rules.
 * So one program queries the cluster's resolver as several users, all from one port, and another server takes the place of
 * the sidecar's DNS server.
 */
async function askAs(
  network: PodNetwork,
  questions: ReadonlyArray<readonly [uid: number, name: string]>,
): Promise<readonly string[]> {
  const program = `
import json, os, socket, struct, threading
def query(name):
    return struct.pack('>6H', 7, 256, 1, 0, 0, 0) + b''.join(bytes([len(part)]) + part.encode() for part in name.split('.')) + struct.pack('>BHH', 0, 1, 1)
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(('127.0.0.1', 15053))
def serve():
    while True:
        data, peer = own.recvfrom(512)
        own.sendto(b'our own DNS', peer)
threading.Thread(target=serve, daemon=True).start()
for uid, name in ${JSON.stringify(questions)}:
    os.seteuid(uid)
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    os.seteuid(0)
    asking.settimeout(1)
    asking.bind(('${network.own.v4}', 40000))
    asking.connect(('${network.host.v4}', 53))
    try:
        asking.send(query(name))
        data = asking.recv(512)
        print('our own DNS' if data == b'our own DNS' else 'the resolver')
    except OSError as error:
        print('silence' if isinstance(error, TimeoutError) else 'refused')
    asking.close()
`
  return (await network.asRoot(['/usr/bin/python3', '-c', program])).stdout.trim().split('\n')
}

describe.skipIf(reason !== null)(`UDP flows that the kernel tracks${title}`, () => {
  test('the agent cannot use a flow of the proxy: none of its queries leaves the pod', async () => {
    await using network = await createPodNetwork()
    const { asked } = await network.serveNames({ 'api.test': '203.0.113.9' })
    network.loadRules(PROXY)
    const answers = await askAs(network, [
      [PROXY, 'api.test'],
      [AGENT, 'carried-out.test'],
      [AGENT, 'carried-out.test'],
      [PROXY, 'api.test'],
    ])
    expect(answers[0]).toBe('the resolver')
    expect(answers.slice(1, 3)).not.toContain('the resolver')
    expect(answers[3]).toBe('the resolver')
    expect(asked).toEqual(['api.test', 'api.test'])
  })

  test('the proxy does not use a flow of the agent: its queries do not reach its own DNS server', async () => {
    await using network = await createPodNetwork()
    const { asked } = await network.serveNames({ 'api.test': '203.0.113.9' })
    network.loadRules(PROXY)
    const answers = await askAs(network, [
      [AGENT, 'api.test'],
      [PROXY, 'api.test'],
    ])
    expect(answers[0]).toBe('our own DNS')
    // Refused immediately, so that a resolver retries from another port.
    expect(answers[1]).toBe('refused')
    expect(asked).toEqual([])
  })

  test('responses of servers of the agent leave the pod, with rules for a user and without one', async () => {
    for (const rules of [null, captureRules({ proxyUid: 'nobody' })]) {
      await using network = await createPodNetwork()
      if (rules === null) network.loadRules(PROXY)
      else network.load(rules)
      const program = `
import socket
server = socket.create_server(('${network.own.v4}', 8080))
peer, _ = server.accept()
peer.sendall(b'served')
peer.close()
`
      const served = network.exec(['/usr/bin/python3', '-c', program], { uid: AGENT })
      expect(await firstBytes(network.own.v4, 8080)).toBe('served')
      expect((await served).code).toBe(0)
    }
  })
})

async function firstBytes(host: string, port: number): Promise<string> {
  const until = performance.now() + 60_000
  for (;;) {
    const socket = connect(port, host)
    try {
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      return bytes.toString()
    } catch (error) {
      if (performance.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    } finally {
      socket.destroy()
    }
  }
}
