import { readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { preambleLine } from '../../../core/capture/connection-preamble.ts'
import { eventually } from '../../support/eventually.ts'
import { agentEntry } from '../control/fake-control-plane.ts'
import { AGENT_KEY, type GatewayWorld, startGatewayWorld, UPSTREAM_HOST } from './gateway-world.ts'

const until = (what: string, isMet: () => boolean | Promise<boolean>) =>
  eventually(what, async () => ((await isMet()) ? true : null))
const OTHER_KEY = 'svc_test_other'

let world: GatewayWorld
let place: { readonly port: number; readonly key: string; readonly other: string; readonly otherPort: number }
beforeAll(async () => {
  world = await startGatewayWorld({ agents: [agentEntry('other', OTHER_KEY)] })
  const [bot, other] = [await register('bot'), await register('other')]
  place = {
    ...{ port: Number(bot.port), key: bot.password },
    ...{ otherPort: Number(other.port), other: other.password },
  }
})
afterAll(() => world[Symbol.asyncDispose]())

async function register(name: string): Promise<URL> {
  const { text } = await world.api('POST', '/internal/agents/register', { body: { name } })
  return new URL(JSON.parse(text).proxy_url)
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

/** The upstream sees nothing, and one record without an agent is left. */
async function refused(attempt: () => Promise<unknown>): Promise<void> {
  const denied = () => world.fake.records.filter(({ decision }) => decision === 'DENY')
  const [seen, records] = [world.upstream.seen.length, denied().length]
  await attempt()
  await until('the record of the refusal', () => denied().length > records)
  expect(denied().slice(records)).toMatchObject([{ agent: null, decision: 'DENY', reason: 'agent' }])
  expect(world.upstream.seen).toHaveLength(seen)
}

describe("an agent's own port", () => {
  test.each<[string, () => string | null]>([
    ['no key', () => null],
    ['the name alone', () => basic('bot')],
    ['an empty key', () => basic('bot:')],
    ['an empty name', () => basic(`:${place.key}`)],
    ['a wrong key', () => basic('bot:svc_port_wrong')],
    ['the key without its last character', () => basic(`bot:${place.key.slice(0, -1)}`)],
    ['the key with one character more', () => basic(`bot:${place.key}x`)],
    ['the key in upper case', () => basic(`bot:${place.key.toUpperCase()}`)],
    ['the key with a blank', () => basic(`bot: ${place.key}`)],
    ['the key with NUL', () => basic(`bot:${place.key}\0`)],
    ['another agent with its own key', () => basic(`other:${OTHER_KEY}`)],
    ['another agent with the key of its port', () => basic(`other:${place.other}`)],
    ['this agent with the key of another port', () => basic(`bot:${place.other}`)],
    ['another agent with the key of this port', () => basic(`other:${place.key}`)],
    ["this agent with another agent's key", () => basic(`bot:${OTHER_KEY}`)],
    ['the name in another case', () => basic(`Bot:${place.key}`)],
    ['a name that ends in a blank', () => basic(`bot :${place.key}`)],
    ['a name with a line feed', () => basic(`bot\n:${place.key}`)],
    ['a bearer token', () => `Bearer ${place.key}`],
    ['the token of the internal API', () => `Bearer ${world.internalToken}`],
    ['the token of the internal API as a key', () => basic(`bot:${world.internalToken}`)],
    ['a key that is not encoded', () => `Basic bot:${place.key}`],
    ['two keys', () => `${basic(`bot:${place.key}`)}, ${basic(`bot:${place.key}`)}`],
    ['the prototype', () => basic(`__proto__:${place.key}`)],
  ])('refuses %s with 407, which says what to use', async (_name, auth) => {
    await refused(async () => {
      const answer = await world.proxied('GET', '/things', { port: place.port, auth: auth() })
      expect(answer.status).toBe(407)
      expect(answer.headers['proxy-authenticate']).toMatch(/^Basic /)
      expect(JSON.parse(answer.text).message).toMatch(
        /^This port needs the key of agent "bot"\. .*chaperone run.*chaperone status --json.*NAME:KEY/,
      )
    })
  })

  test('takes its key and that of its agent, for its agent alone', async () => {
    for (const key of [place.key, AGENT_KEY]) {
      const auth = basic(`bot:${key}`)
      expect((await world.proxied('GET', '/things', { port: place.port, auth })).status).toBe(200)
    }
    // What was verified on one port counts on no other.
    await refused(() =>
      world.proxied('GET', '/things', { port: place.otherPort, auth: basic(`bot:${place.key}`) }),
    )
    await refused(() => world.proxied('GET', '/things', { auth: basic(`bot:${place.key}`) }))
  })

  test.each(['CONNECT', 'TLS to the port, then CONNECT'])('refuses %s without a key', async (way) => {
    await refused(async () => {
      const head = `CONNECT ${UPSTREAM_HOST}:443 HTTP/1.1\r\nHost: ${UPSTREAM_HOST}:443\r\n\r\n`
      expect(await conversation(place.port, head, way !== 'CONNECT')).toMatch(/^HTTP\/1\.1 407 /)
    })
  })

  test('refuses TLS that would continue without a key', async () => {
    const seen = world.upstream.seen.length
    const head = `GET /things HTTP/1.1\r\nHost: ${UPSTREAM_HOST}\r\nConnection: close\r\n\r\n`
    expect(await conversation(place.port, head, true)).toMatch(/^HTTP\/1\.1 404 .*NAME:KEY/s)
    expect(world.upstream.seen).toHaveLength(seen)
  })

  test('leaves its key in no file that others may read, no log and no record', async () => {
    await world.proxied('GET', '/things', { port: place.port, auth: basic(`bot:${place.key}`) })
    const listed = await world.api('GET', '/internal/agents')
    expect(listed.text).toContain(place.key)
    const encoded = Buffer.from(`bot:${place.key}`).toString('base64')
    for (const text of [
      world.log(),
      JSON.stringify(world.fake.records),
      JSON.stringify(world.upstream.seen),
    ]) {
      expect(text).not.toContain(place.key)
      expect(text).not.toContain(encoded)
    }
    for (const name of readdirSync(world.dir, { recursive: true, encoding: 'utf8' })) {
      const file = join(world.dir, name)
      if (statSync(file).isFile()) expect(readFileSync(file, 'latin1'), name).not.toContain(place.key)
    }
    expect(statSync(join(world.dir, 'ports.key')).mode & 0o777).toBe(0o600)
  })

  test("ends with the agent's key: a rotated key has another port key", async () => {
    await using own = await startGatewayWorld()
    const url = new URL(
      JSON.parse((await own.api('POST', '/internal/agents/register', { body: { name: 'bot' } })).text)
        .proxy_url,
    )
    const auth = basic(`bot:${url.password}`)
    const ask = async () => (await own.proxied('GET', '/things', { port: Number(url.port), auth })).status
    expect(await ask()).toBe(200)
    own.fake.configure({ agents: [agentEntry('bot', 'another key')] })
    await until('the new configuration', async () => (await ask()) === 407)
  })
})

describe('the socket of captured commands', () => {
  const line = (fields: object): string => `${JSON.stringify(fields)}\n`
  const request = `GET /things HTTP/1.1\r\nHost: ${UPSTREAM_HOST}\r\nConnection: close\r\n\r\n`

  test.each<[string, () => object]>([
    ['a forged name', () => ({ agent: 'other', key: place.key })],
    ['a wrong key', () => ({ agent: 'bot', key: 'svc_port_wrong' })],
    ["another agent's key", () => ({ agent: 'bot', key: OTHER_KEY })],
    ['an unknown agent', () => ({ agent: 'nobody', key: place.key })],
    ['a name that holds the separator', () => ({ agent: 'bot:x', key: place.key })],
    ['the prototype', () => ({ agent: '__proto__', key: place.key })],
  ])('refuses %s', async (_name, whose) => {
    await refused(async () => {
      const head = line({ ...whose(), kind: 'http', destination: null })
      expect(await sendToSocket(head + request)).toMatch(/^HTTP\/1\.1 407 /)
    })
    expect(await sendToSocket(line({ ...whose(), kind: 'dns', destination: null }) + dnsQuery())).toBe('')
  })

  test.each<[string, () => string]>([
    ['no key', () => line({ agent: 'other', kind: 'http', destination: null })],
    ['an empty key', () => line({ agent: 'other', key: '', kind: 'http', destination: null })],
    [
      'a key that is no text',
      () => line({ agent: 'other', key: [place.other], kind: 'http', destination: null }),
    ],
    ['no line at all', () => ''],
    ['a list', () => '[]\n'],
  ])('closes a connection with %s', async (_name, head) => {
    const seen = world.upstream.seen.length
    expect(await sendToSocket(head() + request)).toBe('')
    expect(world.upstream.seen).toHaveLength(seen)
  })

  test('takes the key of the agent', async () => {
    const head = preambleLine({ agent: 'bot', key: place.key, kind: 'http', destination: null })
    expect(await sendToSocket(head + request)).toMatch(/^HTTP\/1\.1 200 /)
    expect(statSync(join(world.dir, 'capture.sock')).mode & 0o777).toBe(0o600)
  })

  test('assigns addresses for each agent separately: names of another agent take none', async () => {
    const firstOf = async (agent: string, key: string, name: string) =>
      (await sendToSocket(line({ agent, key, kind: 'dns', destination: null }) + dnsQuery(name), 16)).slice(
        -4,
      )
    const [bot, other] = [
      await firstOf('bot', place.key, 'one.example.org'),
      await firstOf('other', place.other, 'two.example.org'),
    ]
    expect(bot).toBe('\xc6\x13\x00\x01')
    expect(other).toBe(bot)
  })

  function sendToSocket(bytes: string, enough?: number): Promise<string> {
    return talk(connect({ path: join(world.dir, 'capture.sock') }), bytes, enough)
  }
})

/** A question for one name: two bytes of length, then the message. */
function dnsQuery(host = UPSTREAM_HOST): string {
  const name = host.split('.').map((part) => String.fromCharCode(part.length) + part)
  const message = `\0\x01\x01\0\0\x01\0\0\0\0\0\0${name.join('')}\0\0\x01\0\x01`
  return `\0${String.fromCharCode(message.length)}${message}`
}

function conversation(port: number, head: string, isTls: boolean): Promise<string> {
  const to = { port, host: '127.0.0.1' }
  return talk(isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to), head)
}

/** Everything that is answered until the other end closes, or has answered whole, or with `enough` bytes. */
function talk(
  socket: ReturnType<typeof connect>,
  bytes: string,
  enough = Number.POSITIVE_INFINITY,
): Promise<string> {
  let answer = ''
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
      if (answer.length >= enough || /\r\n\r\n\{.*\}$/s.test(answer)) socket.end()
    })
    socket.on('error', () => resolve(answer))
    socket.on('close', () => resolve(answer))
    socket.write(bytes, 'latin1')
  })
}
