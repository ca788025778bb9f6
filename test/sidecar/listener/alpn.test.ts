import { expect, it } from 'vitest'
import { startFront, tlsTunnel } from './harness.ts'

it.each([
  ['a.example', ['h2', 'http/1.1'], 'h2'],
  ['code.example', ['h2', 'http/1.1'], 'http/1.1'],
  ['code.example', ['http/1.1'], 'http/1.1'],
  ['code.example', ['h2'], 'h2'],
])('TLS with %s for a client that offers %s chooses %s', async (host, alpn, chosen) => {
  await using t = await startFront({ prefersHttp1: (name) => name === 'code.example' })
  const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host, alpn })
  expect(secure.alpnProtocol).toBe(chosen)
  secure.destroy()
})
