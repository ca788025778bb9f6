import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import {
  AGENT_KEY,
  type GatewayWorld,
  genericConnector,
  permission,
  startGatewayWorld,
  UPSTREAM_HOST,
} from '../../sidecar/gateway/gateway-world.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { type NotesServer, pathOf, startNotes } from './notes.ts'

/** `POST /notes.v1.Notes/Delete` has a name of its own, like any operation that a Connector declares. */
const action = (name: string) => ({
  ...{ method: 'POST', path: pathOf(name), action: `generic.notes.${name.toLowerCase()}` },
  ...{ effect: 'write', risk: 'medium' },
})
/** Calls that are held: gRPC messages cannot be shown, so the operation declares that its bodies are opaque. */
const held = (name: string) => ({ ...action(name), bodies: 'opaque' })
const ACTIONS = [action('Delete'), held('Publish'), held('Talk'), action('Send'), action('Dictate')]

export const SECRET = 'upstream-secret'

export type GrpcWorld = AsyncDisposable & {
  readonly gateway: GatewayWorld
  readonly notes: NotesServer
  readonly client: Client
  /** `http://name:key@127.0.0.1:port`, as agents have it in their environment. */
  readonly proxyUrl: string
  readonly caFile: string
}

/** A gateway in front of a real gRPC server, and the official client of Node with nothing but its own settings. */
export async function startGrpcWorld(url?: string): Promise<GrpcWorld> {
  const ca = createTestCa()
  const notes = await startNotes(ca.issue(UPSTREAM_HOST))
  const connector = genericConnector('')
  const gateway = await startGatewayWorld({
    permissions: [
      permission('generic.post', 'allow'),
      permission('generic.notes.delete', 'deny'),
      permission('generic.notes.publish', 'require_approval'),
      permission('generic.notes.talk', 'require_approval'),
      permission('generic.notes.send', 'require_approval'),
      permission('generic.notes.dictate', 'require_approval'),
    ],
    prepare: (fake) =>
      fake.configure({
        connectors: [
          {
            ...connector,
            actions: ACTIONS,
            upstream: {
              url: url ?? `https://127.0.0.1:${notes.port}`,
              allowPrivateAddresses: true,
              allowPlaintextCredential: true,
              caBundle: ca.cert,
            },
          },
        ],
      }),
  })
  await eventually('the first rules', () =>
    gateway.fake.acks.some((ack) => ack.version === gateway.fake.version) ? true : null,
  )
  const caFile = join(gateway.dir, 'ca.crt')
  const proxyUrl = `http://bot:${AGENT_KEY}@127.0.0.1:${gateway.gateway.port}`
  const client = clientThrough(proxyUrl, readFileSync(caFile))
  return {
    ...{ gateway, notes, client, proxyUrl, caFile },
    async [Symbol.asyncDispose]() {
      client.close()
      await gateway[Symbol.asyncDispose]()
      await notes[Symbol.asyncDispose]()
    },
  }
}

/** The library reads the address of the proxy from the environment when it creates a channel. */
function clientThrough(proxyUrl: string, ca: Buffer): Client {
  process.env['grpc_proxy'] = proxyUrl
  try {
    return new Client(`${UPSTREAM_HOST}:443`, credentials.createSsl(ca), {
      'grpc.max_receive_message_length': -1,
      // The test sees a refused call as it is.
      'grpc.enable_retries': 0,
    })
  } finally {
    delete process.env['grpc_proxy']
  }
}

const same = (bytes: Buffer): Buffer => bytes
const MINUTE_MS = 60_000

export type Ended = {
  readonly error: ServiceError | null
  readonly value: Buffer | undefined
  readonly metadata: Metadata
  readonly trailers: Metadata
}
export type CallOptions = { readonly metadata?: Metadata; readonly deadlineMs?: number }

const before = ({ deadlineMs = MINUTE_MS }: CallOptions) => ({ deadline: Date.now() + deadlineMs })

/** A unary call to its end; errors are values. */
export function unary(
  client: Client,
  name: string,
  body: Buffer | string,
  options: CallOptions = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const meta = { metadata: new Metadata(), trailers: new Metadata() }
    const { metadata = new Metadata() } = options
    let ended: Pick<Ended, 'error' | 'value'> | null = null
    const call = client.makeUnaryRequest(
      pathOf(name),
      same,
      same,
      Buffer.from(body),
      metadata,
      before(options),
      (error, value) => {
        ended = { error, value }
      },
    )
    call.on('metadata', (received) => {
      meta.metadata = received
    })
    call.on('status', ({ metadata: trailers }) => {
      meta.trailers = trailers
      setImmediate(() => resolve({ error: null, value: undefined, ...ended, ...meta }))
    })
  })
}

export function serverStream(client: Client, name: string): ClientReadableStream<Buffer> {
  return client.makeServerStreamRequest(pathOf(name), same, same, Buffer.from('x'), before({}))
}

export function clientStream(
  client: Client,
  name: string,
  done: (error: ServiceError | null, value?: Buffer) => void,
): ClientWritableStream<Buffer> {
  return client.makeClientStreamRequest(pathOf(name), same, same, before({}), done)
}

export function duplex(client: Client, name: string): ClientDuplexStream<Buffer, Buffer> {
  return client.makeBidiStreamRequest(pathOf(name), same, same, before({}))
}
