import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import type { Notice } from '../../../controlplane/features/notifications/channels/channel.ts'
import { createEmailChannel } from '../../../controlplane/features/notifications/channels/email.ts'
import type { EmailSettings } from '../../../core/wire/notifications/notification-channels.ts'

const SETTINGS: EmailSettings = {
  ...{ host: 'mail.example', port: 25, tls: 'none', username: '', password: '' },
  ...{ from: 'chaperone@example.com', to: ['ann@example.com'] },
}
const NOTICE: Notice = {
  ...{ id: 'msg_1', event: 'channel.test', at: new Date(0), title: 'Test', facts: [], link: null },
  ...{ approval: null, approvers: [] },
}
const signal = () => new AbortController().signal
const at = (address: string) => async () => [{ address, family: 4 }]

/** Server that sends a text to each client, and an answer to each line. */
async function startServer(greeting: string, answer: string) {
  const state = { connections: 0 }
  const server = createServer((socket) => {
    state.connections += 1
    socket.on('error', () => socket.destroy())
    socket.on('data', () => socket.write(answer))
    socket.write(greeting)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { state, port, [Symbol.dispose]: () => void server.close() }
}

test.each(['127.0.0.1', '10.0.0.1', '::1', '169.254.169.254'])(
  'a server at the private address %s is not called',
  async (address) => {
    using server = await startServer('220 canary\r\n', '250 canary\r\n')
    const channel = createEmailChannel({ resolve: at(address) })
    const sent = await channel.send({ ...SETTINGS, port: server.port }, NOTICE, signal())
    expect(sent).toMatchObject({
      ...{ outcome: 'failed', status: null },
      why: expect.stringContaining(`mail.example resolves to ${address}`),
    })
    expect(server.state.connections).toBe(0)
  },
)

test.each([
  ['SSH-2.0-canary_9.6\r\n', '', 'EPROTOCOL: the answer of the server is not SMTP', null],
  ['554 canary refused\r\n', '', 'EPROTOCOL: the server refused the session (5xx)', 554],
  ['220 canary FTP\r\n', '500 canary\r\n', 'EPROTOCOL: the server refused the session (5xx)', 500],
])('a server with the greeting %j is not quoted', async (greeting, answer, why, status) => {
  using server = await startServer(greeting, answer)
  const channel = createEmailChannel({ reach: 'private', resolve: at('127.0.0.1') })
  const sent = await channel.send({ ...SETTINGS, port: server.port }, NOTICE, signal())
  expect(sent).toEqual({ outcome: 'failed', why: `mail.example:${server.port} ${why}`, status })
  expect(JSON.stringify(sent)).not.toContain('canary')
})

test('the DNS look-up is part of the time limit of an attempt', async () => {
  const channel = createEmailChannel({ resolve: () => new Promise(() => undefined) })
  const sent = await channel.send(SETTINGS, NOTICE, AbortSignal.timeout(50))
  expect(sent).toMatchObject({ outcome: 'failed', why: expect.stringContaining('took too long') })
})
