import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterEach, expect } from 'vitest'
import WebSocket, { WebSocketServer } from 'ws'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import type { PipelineOptions } from '../../../sidecar/pipeline/pipeline.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startFront, type TestFront } from '../listener/harness.ts'
import { type Rule, type Rules, startWorld, type World } from '../pipeline/test-world.ts'

const KEY = 'svc_test_abc'
export const AGENT = { key_sha256: createHash('sha256').update(KEY).digest('hex') }
export const HOST = 'api.openai.com'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

type Event = Record<string, unknown>

/** A provider's end of the WebSockets, which answers as its script says. */
export type Model = {
  readonly port: number
  readonly handshakes: { readonly headers: Readonly<Record<string, unknown>>; readonly url: string }[]
  readonly messages: string[]
  answer: (text: string, socket: WebSocket) => void
  readonly sockets: Set<WebSocket>
}

const ANSWER: Model['answer'] = (text, socket) => {
  const { stream_id } = JSON.parse(text) as { stream_id?: string }
  const stream = stream_id === undefined ? {} : { stream_id }
  for (const type of ['response.created', 'response.output_text.delta', 'response.completed'])
    socket.send(JSON.stringify({ type, sequence_number: 1, ...stream, response: { id: 'resp_1' } }))
}

async function startModel(): Promise<Model> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: true })
  await once(server, 'listening')
  const model: Model = {
    port: (server.address() as AddressInfo).port,
    handshakes: [],
    messages: [],
    answer: ANSWER,
    sockets: new Set(),
  }
  server.on('connection', (socket, request) => {
    model.handshakes.push({ headers: request.headers, url: request.url ?? '' })
    model.sockets.add(socket)
    socket.on('close', () => model.sockets.delete(socket))
    socket.on('error', () => socket.terminate())
    socket.on('message', (data) => {
      model.messages.push(String(data))
      model.answer(String(data), socket)
    })
  })
  open.push({
    async [Symbol.asyncDispose]() {
      for (const socket of model.sockets) socket.terminate()
      await new Promise((done) => server.close(done))
    },
  })
  return model
}

export type MessageWorld = {
  readonly world: World
  readonly front: TestFront
  readonly model: Model
  rules(over?: Rules): Rules
  /** A WebSocket of the agent, once it is open. */
  connect(headers?: Record<string, string>): Promise<Client>
}

export type Client = {
  readonly socket: WebSocket
  readonly events: Event[]
  readonly closed: Promise<number>
  send(message: unknown): void
  /** The events so far, once there are so many. */
  seen(count: number): Promise<readonly Event[]>
}

export const ALLOW_CALLS: readonly Rule[] = [['llm_a.response.*', 'allow']]

/** The real front, pipeline and upstream side before a WebSocket server. */
export async function startMessages(over: Rules = {}, pipeline: PipelineOptions = {}): Promise<MessageWorld> {
  const model = await startModel()
  const rules = (more: Rules = {}): Rules => ({
    agents: [AGENT],
    permissions: ALLOW_CALLS,
    ...over,
    ...more,
    connectors: (more.connectors ?? over.connectors ?? [{}]).map((one) => ({
      ...{ type: 'llm_a' as const, name: 'team/models', auth: { type: 'bearer' as const } },
      webSocketMessages: true,
      upstream: {
        url: `http://127.0.0.1:${model.port}`,
        allowPrivateAddresses: true,
        allowPlaintextCredential: true,
      },
      ...one,
    })),
  })
  const world = await startWorld(rules(), { pipeline })
  const front = await startFront({ handle: world.run, admit: createAdmit(world.ports) })
  open.push(world, front)
  return {
    ...{ world, front, model, rules },
    connect: async (headers = {}) => clientOf(await tunnelTo(front), headers),
  }
}

async function clientOf(tunnel: TLSSocket, headers: Record<string, string>): Promise<Client> {
  const socket = new WebSocket(`wss://${HOST}/v1/responses`, { createConnection: () => tunnel, headers })
  const events: Event[] = []
  socket.on('message', (data) => events.push(JSON.parse(String(data)) as Event))
  socket.on('error', () => undefined)
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await Promise.race([
    once(socket, 'open'),
    once(socket, 'unexpected-response').then(([, response]) => {
      throw new Error(`answered ${(response as { statusCode: number }).statusCode}`)
    }),
  ])
  return {
    ...{ socket, events, closed },
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async seen(count) {
      await waitFor(() => expect(events.length).toBeGreaterThanOrEqual(count))
      return events
    },
  }
}

export async function tunnelTo(front: TestFront): Promise<TLSSocket> {
  const socket = connect(front.port, '127.0.0.1')
  const token = Buffer.from(`builder:${KEY}`).toString('base64')
  socket.write(
    `CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}:443\r\nProxy-Authorization: Basic ${token}\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain(' 200 ')
  const secure = connectTls({ socket, servername: HOST, ca: front.ca.certPem })
  await once(secure, 'secureConnect')
  return secure
}

export const CREATE = { type: 'response.create', model: 'm-1', store: false, input: 'hello' }
