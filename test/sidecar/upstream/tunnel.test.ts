import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { waitFor } from '../../support/wait-for.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { closeAll, outboundOf, recorder, targetOf, upstreamWith } from './upstream-world.ts'

afterEach(closeAll)

describe('tunnels and upgrades', () => {
  it('joins a CONNECT to the checked address and counts its bytes', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', target: `127.0.0.1:${at.port}`, kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port), 'any')
    await waitFor(() =>
      expect(exchange.reply.upgradeHead).toBe('HTTP/1.1 200 Connection Established\r\n\r\n'),
    )
    exchange.reply.agentSide.write('GET /in-tunnel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const [first] = await once(exchange.reply.agentSide, 'data')
    expect(String(first)).toContain('200 OK')
    exchange.reply.agentSide.resume()
    exchange.reply.agentSide.end()
    await done
    expect(at.seen[0]?.target).toBe('/in-tunnel')
    expect(exchange.tunnelBytes?.up).toBeGreaterThan(40)
    expect(exchange.tunnelBytes?.down).toBeGreaterThan(40)
  })

  it('refuses to tunnel to a private address', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port, { allowPrivateAddresses: false }), 'any')
    await expect(done).rejects.toMatchObject({ code: 'address_refused' })
    expect(exchange.reply.state).toBe('open')
    expect(at.connections).toBe(0)
  })

  it('cuts an open tunnel when the exchange is aborted', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port), 'any')
    await waitFor(() => expect(at.openConnections).toBe(1))
    exchange.abort.abort()
    await done
    await waitFor(() => expect(at.openConnections).toBe(0))
    expect(exchange.outcome.note).toBe('cut')
  })

  const HANDSHAKE = [
    'Connection',
    'Upgrade',
    'Upgrade',
    'websocket',
    'Sec-WebSocket-Version',
    '13',
    'Sec-WebSocket-Key',
    'dGhlIHNhbXBsZSBub25jZQ==',
  ]

  it('carries a WebSocket handshake with its headers and then raw bytes both ways', async () => {
    const at = await recorder()
    const exchange = testExchange({
      kind: 'upgrade',
      target: '/socket',
      headers: [...HANDSHAKE, 'Authorization', 'token ours'],
    })
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
    expect(exchange.reply.upgradeHead).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(at.seen[0]?.header('authorization')).toBe('token ours')
    const masked = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    exchange.reply.agentSide.write(masked)
    const [frame] = await once(exchange.reply.agentSide, 'data')
    expect(frame).toEqual(Buffer.from([0x81, 0x02, 0x68, 0x69]))
    exchange.abort.abort()
    await done
  })

  it('carries the refusal of a WebSocket as it is', async () => {
    const at = await recorder()
    const exchange = testExchange({ kind: 'upgrade', target: '/refuse', headers: HANDSHAKE })
    await upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    expect(exchange.reply.status).toBe(401)
    expect(exchange.reply.text()).toBe('no')
  })
})
