import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KillRelayBody } from '../../../core/wire/operator/operator.ts'
import { createControlPlaneClient } from '../../../operator/control/control-plane-client.ts'
import { createControlPlaneHttp } from '../../../operator/control/control-plane-http.ts'
import { createKillRelay } from '../../../operator/control/kill-relay.ts'
import type { RelayedKillSwitch } from '../../../operator/control/kill-switches.ts'
import { createReplicas } from '../../../operator/control/replicas.ts'
import { eventually } from '../../support/eventually.ts'

const log = pino({ level: 'silent' })
let folder: string
let tokenFile: string
const servers: Server[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chaperone-control-'))
  tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'first\n')
})
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
  await rm(folder, { recursive: true, force: true })
})

/** One replica: its received requests, and the kill switches that it reports. */
async function replica(host = '127.0.0.1', port = 0) {
  const heard: Array<{ request: IncomingMessage; body: KillRelayBody | null }> = []
  const held = new Map<string, KillRelayBody>()
  const polls: Array<() => void> = []
  const state = { isAnswering: true, hasLongPolls: false, hangs: (_source: string): boolean => false }
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || 'null') as KillRelayBody | null
    heard.push({ request, body })
    if (!state.isAnswering || state.hangs(body?.source ?? '')) return
    if (body !== null) held.set(body.source, body)
    const kills = killsOf(held)
    const acknowledged = { acked: 0, total: 0, ms: 0 }
    const send = (reply: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    if (body !== null) {
      send({ applied: true, effective: kills, acknowledged })
      for (const poll of polls.splice(0)) poll()
      return
    }
    const revision = () => (state.hasLongPolls ? `r${JSON.stringify([...held])}`.slice(0, 64) : '')
    const known = new URL(request.url ?? '', 'http://x').searchParams.get('known')
    const answer = () => send({ version: 1, kills: killsOf(held), processes: [], revision: revision() })
    if (known !== null && known === revision()) polls.push(answer)
    else answer()
  })
  servers.push(server)
  server.listen(port, host)
  await once(server, 'listening')
  /** Loses all kill switches, and answers the long polls. */
  const lose = () => {
    held.clear()
    for (const poll of polls.splice(0)) poll()
  }
  return { heard, held, state, lose, port: (server.address() as AddressInfo).port }
}

function killsOf(held: ReadonlyMap<string, KillRelayBody>) {
  return [...held.values()].flatMap(({ source, scopes, reason }) =>
    scopes.map((scope) => ({ source, scope, reason, since: '' })),
  )
}

const httpTo = (controlPlaneUrl: string) =>
  createControlPlaneHttp({ controlPlaneUrl, operatorTokenFile: tokenFile })
const killSwitch = (changes: Partial<RelayedKillSwitch> = {}): RelayedKillSwitch => ({
  ...{ source: 'configmap', scopes: ['all'], reason: 'fire', by: 'test', revision: 1 },
  ...changes,
})

describe('calls to the control plane', () => {
  test('dial the replica under the host name of the control plane, with the current token', async () => {
    const one = await replica('127.0.0.2')
    const two = await replica('127.0.0.3', one.port)
    using http = httpTo(`http://control-plane.example:${one.port}`)
    const client = createControlPlaneClient(http)
    const url = `http://control-plane.example:${one.port}`
    await client.state({ url, address: '127.0.0.2' })
    await writeFile(tokenFile, 'second')
    await client.state({ url, address: '127.0.0.3' })
    await client.state({ url, address: '127.0.0.2' })
    expect([one.heard.length, two.heard.length]).toEqual([2, 1])
    expect(one.heard[0]?.request.headers.host).toBe(`control-plane.example:${one.port}`)
    expect(one.heard.map(({ request }) => request.headers.authorization)).toEqual([
      'Bearer first',
      'Bearer second',
    ])
  })

  test('find every replica by DNS, and keep the last known ones when the name does not resolve', async () => {
    let answer: () => Promise<string[]> = async () => ['10.0.0.2', '10.0.0.1']
    const replicas = createReplicas({
      ...{ controlPlaneUrl: 'http://cp:3000', urls: [], host: 'peers', log },
      resolve: () => answer(),
    })
    const found = ['10.0.0.1', '10.0.0.2'].map((address) => ({ url: 'http://cp:3000', address }))
    expect(await replicas.find()).toEqual(found)
    answer = async () => Promise.reject(new Error('NXDOMAIN'))
    expect(await replicas.find()).toEqual(found)
    answer = async () => []
    expect(await replicas.find()).toEqual(found)
  })
})

describe('the kill relay', () => {
  async function relayTo(...ports: number[]) {
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const http = httpTo(urls[0] ?? '')
    const replicas = createReplicas({ controlPlaneUrl: urls[0] ?? '', urls, host: null, log })
    const relay = createKillRelay({
      ...{ client: createControlPlaneClient(http), replicas, log, timing: { pauseMs: 20, retryMs: 100 } },
    })
    return {
      relay,
      async close() {
        await relay[Symbol.asyncDispose]()
        http[Symbol.dispose]()
      },
    }
  }

  test('relays to every replica, and is not delayed by one that does not answer', async () => {
    const [well, ill] = [await replica(), await replica()]
    const { relay, close } = await relayTo(well.port, ill.port)
    await eventually('both are known', () => (well.heard.length > 0 && ill.heard.length > 0 ? true : null))
    ill.state.isAnswering = false
    relay.offer(killSwitch())
    await eventually('the one has it', () => (well.held.get('configmap')?.scopes.length === 1 ? true : null))
    relay.offer(killSwitch({ source: 'manifest:team/prod', scopes: ['gateway:team/prod'] }))
    await eventually('the next one too', () => (well.held.has('manifest:team/prod') ? true : null))
    ill.state.isAnswering = true
    await eventually('the other has both in the end', () => (ill.held.size === 2 ? true : null))
    await close()
  })

  test('relays kill switches of one namespace without delay by those of another', async () => {
    const one = await replica()
    one.state.hangs = (source) => source.startsWith('manifest:mallory/')
    const { relay, close } = await relayTo(one.port)
    await eventually('it is known', () => (one.heard.length > 0 ? true : null))
    for (let i = 0; i < 300; i += 1) {
      const gateway = `mallory/g${i}`
      relay.offer(killSwitch({ source: `manifest:${gateway}`, scopes: [`gateway:${gateway}`] }))
    }
    relay.offer(killSwitch({ source: 'manifest:team/prod', scopes: ['gateway:team/prod'] }))
    relay.offer(killSwitch())
    // Behind the calls of the other namespace, which end after 5 s each, it would take twice as long.
    await eventually('it has both', () => (one.held.size === 2 ? true : null))
    one.state.hangs = () => false
    await close()
  })

  test('relays again to a replica that lost a kill switch, and reports since when replicas differ', async () => {
    const one = await replica()
    const { relay, close } = await relayTo(one.port)
    expect(relay.behindMs()).toBe(Number.POSITIVE_INFINITY)
    relay.offer(killSwitch())
    await eventually('it has it', () => (one.held.size === 1 ? true : null))
    await eventually('they agree', () => (relay.behindMs() < 1_000 ? true : null))
    one.held.clear()
    await eventually('it has it again', () => (one.held.size === 1 ? true : null))
    await close()
  })

  test('ignores older revisions of an object, and relays an unchanged kill switch once', async () => {
    const one = await replica()
    const { relay, close } = await relayTo(one.port)
    relay.offer(killSwitch({ revision: 5 }))
    await eventually('it has it', () => (one.held.size === 1 ? true : null))
    relay.offer(killSwitch({ revision: 4, scopes: [], reason: '' }))
    relay.offer(killSwitch({ revision: 6 }))
    const compared = one.heard.length
    await eventually('they were compared again', () => (one.heard.length > compared + 2 ? true : null))
    expect(one.heard.filter(({ body }) => body !== null)).toHaveLength(1)
    relay.offer(killSwitch({ revision: 7, scopes: [], reason: '' }))
    await eventually('it is lifted', () => (one.held.get('configmap')?.scopes.length === 0 ? true : null))
    await close()
  })

  test('reads a replica that agrees by long poll, and sends a lost kill switch as soon as the replica answers', async () => {
    const one = await replica()
    one.state.hasLongPolls = true
    const { relay, close } = await relayTo(one.port)
    relay.offer(killSwitch())
    await eventually('they agree', () => (relay.behindMs() < 1_000 ? true : null))
    const paths = () => one.heard.filter(({ body }) => body === null).map(({ request }) => request.url)
    await eventually('the poll is open', () => (paths().at(-1)?.includes('known=') === true ? true : null))
    const reads = paths().length
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(paths()).toHaveLength(reads)
    expect(paths().every((path) => path?.includes('only=kills'))).toBe(true)
    one.lose()
    await eventually('it has it again', () => (one.held.size === 1 ? true : null))
    await close()
  })
})
