import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { waitFor } from '../../../support/wait-for.ts'
import { type ScriptedUpstream, startScripted } from '../../upstream/http1/scripted-upstream.ts'
import { start } from '../pipeline-world.ts'
import { testExchange } from '../test-exchange.ts'
import { connectorAt } from '../test-world.ts'

const open: ScriptedUpstream[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
const HANDSHAKE = ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13']

/** Asks for a WebSocket; the upstream answers with these lines below the status line. */
async function switched(lines: readonly string[], asked: readonly string[] = ['Sec-WebSocket-Key', KEY]) {
  const upstream = await startScripted((socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\nhello`,
    )
  })
  open.push(upstream)
  const at = connectorAt(upstream.port, {
    upstream: {
      url: `http://127.0.0.1:${upstream.port}`,
      allowPrivateAddresses: true,
      allowPlaintextCredential: true,
    },
  })
  const world = await start({ connectors: [at], permissions: [['codehost.websocket.open', 'allow']] })
  const exchange = testExchange({ kind: 'upgrade', target: '/socket', headers: [...HANDSHAKE, ...asked] })
  const done = world.run(exchange)
  await waitFor(() => expect(exchange.reply.state).not.toBe('open'))
  return { exchange, world, upstream, done }
}

const UPGRADE = 'Upgrade: websocket'
const CONNECTION = 'Connection: Upgrade'
const SOUND = [UPGRADE, CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}`]

describe('an answer 101', () => {
  it.each([
    ['of no protocol', [CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['of another protocol', ['Upgrade: h2c', CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['of a list of protocols', ['Upgrade: websocket, h2c', CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['of two protocols', [UPGRADE, 'Upgrade: h2c', CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['of one protocol twice', [UPGRADE, ...SOUND]],
    ['without Connection', [UPGRADE, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['with Connection: close', [UPGRADE, 'Connection: close', `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['without Sec-WebSocket-Accept', [UPGRADE, CONNECTION]],
    ['with the key for Sec-WebSocket-Accept', [UPGRADE, CONNECTION, `Sec-WebSocket-Accept: ${KEY}`]],
    [
      'with Sec-WebSocket-Accept in other letters',
      [UPGRADE, CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT.toLowerCase()}`],
    ],
    ['with two of Sec-WebSocket-Accept', [...SOUND, `Sec-WebSocket-Accept: ${ACCEPT}`]],
    ['with a list of Sec-WebSocket-Accept', [UPGRADE, CONNECTION, `Sec-WebSocket-Accept: ${ACCEPT}, x`]],
    ['with an extension that was not offered', [...SOUND, 'Sec-WebSocket-Extensions: permessage-deflate']],
    ['with a subprotocol that was not offered', [...SOUND, 'Sec-WebSocket-Protocol: admin']],
  ])('%s is answered with 502, and no byte of it reaches the agent', async (_what, lines) => {
    const { exchange, world, upstream, done } = await switched(lines)
    expect(exchange.reply.status).toBe(502)
    await done
    expect(exchange.reply.upgradeHead).toBeNull()
    expect(exchange.reply.text()).not.toContain('hello')
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ status: 502, error_type: 'connect' })
    await waitFor(() => expect(upstream.openConnections).toBe(0))
  })

  it.each([
    ['no key', []],
    ['two keys', ['Sec-WebSocket-Key', KEY, 'Sec-WebSocket-Key', KEY]],
  ])('to a handshake with %s is answered with 502', async (_what, asked) => {
    const { exchange } = await switched(SOUND, asked)
    expect(exchange.reply.status).toBe(502)
  })

  it.each([
    ['as RFC 6455 wants it', SOUND],
    [
      'in other letters',
      ['upgrade: WebSocket', 'CONNECTION: keep-alive, UPGRADE', `sec-websocket-accept:  ${ACCEPT} `],
    ],
  ])('%s opens the WebSocket, without fields of ours', async (_what, lines) => {
    const more = ['X-Service-Decision: DENY', 'x_service_error: x', 'Alt-Svc: h3=":443"', 'X-Own: 1']
    const { exchange, world, done } = await switched([...lines, ...more])
    expect(exchange.reply.upgradeHead).toContain(ACCEPT)
    expect(exchange.reply.upgradeHead).toContain('X-Own: 1')
    expect(exchange.reply.upgradeHead).not.toMatch(/service|alt-svc/i)
    expect(exchange.reply.upgradeHead).toMatch(/^HTTP\/1\.1 101 /)
    exchange.reply.agentSide.destroy()
    await done
    expect(world.records).toMatchObject([{ status: 101 }])
  })
})
