import { afterEach, describe, expect, it } from 'vitest'
import { createTestCa } from '../../support/test-ca.ts'
import { closeAll, recorder, send, targetOf, upstreamWith } from './upstream-world.ts'

afterEach(closeAll)

describe('dialling', () => {
  const ca = createTestCa()

  it('verifies the certificate against the name and the extra CA, beside the public ones', async () => {
    const at = await recorder({ tls: ca.issue('api.github.com') })
    const target = targetOf(at.port, {
      isTls: true,
      servername: 'api.github.com',
      identities: ['127.0.0.1', 'api.github.com'],
      caBundle: ca.cert,
    })
    const exchange = await send(upstreamWith(), target)
    expect(exchange.reply.status).toBe(200)
    expect(at.seen[0]?.servername).toBe('api.github.com')
  })

  it.each([
    ['an unknown CA', null, 'api.github.com'],
    ['a certificate for another name', ca.cert, 'other.example'],
  ])('sends nothing over a connection with %s', async (_what, caBundle, name) => {
    const at = await recorder({ tls: ca.issue(name) })
    const target = targetOf(at.port, {
      isTls: true,
      servername: 'api.github.com',
      identities: ['api.github.com'],
      caBundle,
    })
    const sending = send(upstreamWith(), target, { headers: ['Authorization', 'Bearer secret'] })
    await expect(sending).rejects.toMatchObject({
      code: 'upstream_tls',
      options: { extra: { error_type: 'tls' } },
    })
    expect(at.seen).toEqual([])
  })

  it('answers 502 when the connection is refused', async () => {
    const at = await recorder()
    await at.close()
    await expect(send(upstreamWith(), targetOf(at.port))).rejects.toMatchObject({
      code: 'upstream_failed',
      options: { extra: { error_type: 'connect' } },
    })
  })

  it('refuses a name when one of its addresses is private, and dials none', async () => {
    const at = await recorder()
    const upstream = upstreamWith({
      resolve: async () => [
        { address: '93.184.216.34', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    })
    const target = targetOf(at.port, { host: 'mixed.example', allowPrivateAddresses: false })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: 'address_refused' })
    expect(at.connections).toBe(0)
  })

  it('resolves once and dials the checked address: a name that becomes private later is not dialled', async () => {
    const at = await recorder()
    let asked = 0
    const upstream = upstreamWith({
      connectTimeoutMs: 300,
      resolve: async () => {
        asked += 1
        return [{ address: asked === 1 ? '192.0.2.1' : '127.0.0.1', family: 4 }]
      },
    })
    const target = targetOf(at.port, { host: 'rebind.example', allowPrivateAddresses: false })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: expect.stringMatching(/^upstream_/) })
    expect(asked).toBe(1)
    expect(at.connections).toBe(0)
  })

  it('refuses an IP literal that is private', async () => {
    const at = await recorder()
    const target = targetOf(at.port, { allowPrivateAddresses: false })
    await expect(send(upstreamWith(), target)).rejects.toMatchObject({ code: 'address_refused' })
    expect(at.connections).toBe(0)
  })

  it('gives up with 504 when a connection takes too long', async () => {
    const upstream = upstreamWith({ connectTimeoutMs: 100, resolve: () => new Promise(() => undefined) })
    const target = targetOf(1, { host: 'slow.example' })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: 'upstream_timeout' })
  })
})
