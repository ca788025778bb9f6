import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'

/** What the server saw of one call. */
export type NoteCall = {
  readonly path: string
  readonly metadata: Metadata
  /** Messages so far, as text. */
  readonly messages: string[]
  /** The client took it back, or the connection died. */
  isCancelled: boolean
  readonly isEnded: boolean
}

export type NotesServer = AsyncDisposable & { readonly port: number; readonly calls: readonly NoteCall[] }

type Kinds = readonly [requestStream: boolean, responseStream: boolean]
const METHODS: Readonly<Record<string, Kinds>> = {
  Echo: [false, false],
  Find: [false, false],
  Delete: [false, false],
  Publish: [false, false],
  Send: [false, false],
  Sleep: [false, false],
  List: [false, true],
  Watch: [false, true],
  Add: [true, false],
  Chat: [true, true],
  Talk: [true, true],
  Dictate: [true, true],
}

const same = (bytes: Buffer): Buffer => bytes
export const pathOf = (name: string): string => `/notes.v1.Notes/${name}`

function define(name: string, [requestStream, responseStream]: Kinds): MethodDefinition<Buffer, Buffer> {
  const codec = {
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  }
  return { path: pathOf(name), requestStream, responseStream, ...codec }
}

const SERVICE: ServiceDefinition = Object.fromEntries(
  Object.entries(METHODS).map(([name, kinds]) => [name, define(name, kinds)]),
)

type Call =
  | ServerUnaryCall<Buffer, Buffer>
  | ServerReadableStream<Buffer, Buffer>
  | ServerWritableStream<Buffer, Buffer>
  | ServerDuplexStream<Buffer, Buffer>
type Done = sendUnaryData<Buffer>

/** A real gRPC server with TLS. Messages are plain bytes: no description of a service is needed for what is tested. */
export async function startNotes(leaf: {
  readonly key: string
  readonly cert: string
}): Promise<NotesServer> {
  const calls: NoteCall[] = []
  const note = (call: Call): NoteCall => {
    const state = { isEnded: false }
    const seen: NoteCall = {
      path: call.getPath(),
      metadata: call.metadata,
      messages: [],
      isCancelled: false,
      get isEnded() {
        return state.isEnded
      },
    }
    calls.push(seen)
    const source: NodeJS.EventEmitter = call
    source.on('cancelled', () => {
      seen.isCancelled = true
    })
    if ('request' in call) seen.messages.push(String(call.request).slice(0, 100))
    else source.on('data', (message: Buffer) => seen.messages.push(String(message).slice(0, 100)))
    source.on('end', () => {
      state.isEnded = true
    })
    return seen
  }
  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
  server.addService(SERVICE, handlers(note))
  const port = await new Promise<number>((resolve, reject) => {
    const pair = { private_key: Buffer.from(leaf.key), cert_chain: Buffer.from(leaf.cert) }
    server.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  return { port, calls, [Symbol.asyncDispose]: async () => server.forceShutdown() }
}

function handlers(note: (call: Call) => NoteCall) {
  const echo = (call: ServerUnaryCall<Buffer, Buffer>, done: Done): void => {
    note(call)
    const first = new Metadata()
    first.set('x-served-by', 'notes')
    call.sendMetadata(first)
    const last = new Metadata()
    last.set('x-digest-bin', Buffer.from([0, 1, 255]))
    done(null, call.request, last)
  }
  const chat = (call: ServerDuplexStream<Buffer, Buffer>): void => {
    note(call)
    call.on('data', (message: Buffer) => call.write(Buffer.from(`re: ${message}`)))
    call.on('end', () => call.end())
  }
  return {
    ...{ Echo: echo, Delete: echo, Publish: echo, Send: echo },
    Find(call: ServerUnaryCall<Buffer, Buffer>, done: Done) {
      note(call)
      done({ code: status.NOT_FOUND, details: 'no note “7” here: 100%' })
    },
    Sleep: (call: ServerUnaryCall<Buffer, Buffer>) => void note(call),
    List(call: ServerWritableStream<Buffer, Buffer>) {
      note(call)
      for (let i = 0; i < 100; i++) call.write(Buffer.from(`note ${i}`))
      call.end()
    },
    Watch(call: ServerWritableStream<Buffer, Buffer>) {
      note(call)
      call.write(Buffer.from('first'))
    },
    Add(call: ServerReadableStream<Buffer, Buffer>, done: Done) {
      const seen = note(call)
      call.on('end', () => done(null, Buffer.from(`${seen.messages.length} added`)))
    },
    ...{ Chat: chat, Talk: chat, Dictate: chat },
  }
}
