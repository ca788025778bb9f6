import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'
import { type Change, createFakeKubeStore, type FakeKubeStore, type FakeObject } from './fake-kube-store.ts'

export type FakeCall = {
  readonly front: string
  readonly method: string
  readonly path: string
  readonly isWatch: boolean
  readonly query: URLSearchParams
  /** Time at which the call arrived, from `performance.now()`. */
  readonly at: number
}

/** Returns the fault that replaces the response to a call; null for a normal response. */
export type Fault = (call: FakeCall) => FaultAnswer | null
export type FaultAnswer =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterS?: number }
  /** Ends a watch with an ERROR event of this status code. */
  | { readonly kind: 'error-event'; readonly code: number }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Sends half a line, then closes the connection. */
  | { readonly kind: 'truncate' }

/** One address of the API server. Each client may use its own address, so that a test can disconnect one client only. */
export type Front = {
  readonly name: string
  readonly url: string
  readonly config: KubeConfig
  /** Leaves all later requests to this address unanswered. Connections stay open. */
  hang(): void
  /** Closes all connections to this address. Answers later requests again. */
  restore(): Promise<void>
}

export type FakeKubeApi = AsyncDisposable & {
  readonly store: FakeKubeStore
  readonly calls: readonly FakeCall[]
  front(name: string): Promise<Front>
  /** Adds a fault, which is evaluated for every call until it is disposed. The newest fault has priority. */
  fault(fault: Fault): Disposable
  /** Keeps the open watches open without sending further events. */
  silenceWatches(): void
  /** Closes the connections of all watches. */
  endWatches(): void
  writes(): readonly FakeCall[]
  /** Number of times at which every open watch was sent a bookmark. */
  sentBookmarks(): number
  openWatches(path: string): number
}

type Watch = { readonly path: string; readonly response: ServerResponse; isSilent: boolean }

/** Starts an in-memory API server. A test can make it fail in ways that a real API server rarely fails. */
export async function startFakeKubeApi(options: { bookmarkMs?: number } = {}): Promise<FakeKubeApi> {
  const calls: FakeCall[] = []
  const watches = new Set<Watch>()
  const faults: Fault[] = []
  const servers: Server[] = []
  const store = createFakeKubeStore((collection, change) => {
    for (const watch of watches) if (matches(watch.path, collection, change.object)) sendChange(watch, change)
  })
  const sendBookmark = (watch: Watch) =>
    send(watch, 'BOOKMARK', { metadata: { resourceVersion: `${store.revision()}` } })
  let sentBookmarks = 0
  const bookmarks = setInterval(() => {
    sentBookmarks++
    for (const watch of watches) sendBookmark(watch)
  }, options.bookmarkMs ?? 50)

  async function handle(front: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fake')
    const isWatch = url.searchParams.get('watch') === 'true'
    const { pathname: path, searchParams: query } = url
    const call: FakeCall = {
      front,
      method: request.method ?? '',
      path,
      isWatch,
      query,
      at: performance.now(),
    }
    calls.push(call)
    const body = await text(request)
    const answer = faults.map((fault) => fault(call)).find((each) => each !== null)
    if (answer !== undefined && (await misbehave(answer, response))) return
    if (isWatch) return openWatch(call, response)
    const { status, body: reply } = serve(store, call, body === '' ? undefined : JSON.parse(body))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }

  function openWatch({ path, query }: FakeCall, response: ServerResponse): void {
    const { collection } = parse(path)
    const changes = store.since(collection, Number(query.get('resourceVersion') ?? 0))
    if (changes === null) {
      response.writeHead(410, { 'content-type': 'application/json' }).end(JSON.stringify(statusBody(410)))
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    const watch: Watch = { path, response, isSilent: false }
    for (const change of changes) if (matches(path, collection, change.object)) sendChange(watch, change)
    watches.add(watch)
    const lastsMs = Number(query.get('timeoutSeconds') ?? 3_600) * 1_000
    // A real API server also sends a bookmark shortly before the regular end of a watch.
    const last = setTimeout(() => sendBookmark(watch), Math.max(0, lastsMs - 2_000))
    const end = setTimeout(() => watch.isSilent || response.end(), lastsMs)
    response.on('close', () => {
      watches.delete(watch)
      clearTimeout(last)
      clearTimeout(end)
    })
  }

  return {
    store,
    calls,
    async front(name) {
      const state = { isHanging: false, sockets: new Set<Socket>() }
      const server = createServer((request, response) => {
        if (!state.isHanging) void handle(name, request, response)
      })
      server.on('connection', (socket) => {
        state.sockets.add(socket)
        socket.on('close', () => state.sockets.delete(socket))
      })
      servers.push(server)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return {
        name,
        url,
        config: configOf(url),
        hang() {
          state.isHanging = true
        },
        async restore() {
          for (const socket of state.sockets) socket.destroy()
          state.isHanging = false
        },
      }
    },
    fault(fault) {
      faults.unshift(fault)
      return { [Symbol.dispose]: () => void faults.splice(faults.indexOf(fault), 1) }
    },
    silenceWatches() {
      for (const watch of watches) watch.isSilent = true
    },
    endWatches() {
      for (const { response } of watches) response.destroy()
    },
    writes: () => calls.filter(({ method }) => method !== 'GET'),
    sentBookmarks: () => sentBookmarks,
    openWatches: (path) => [...watches].filter((watch) => watch.path === path).length,
    async [Symbol.asyncDispose]() {
      clearInterval(bookmarks)
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    },
  }
}

/** Returns a fault that applies to the first `count` calls that match `fits`. */
export function times(count: number, fits: (call: FakeCall) => boolean, answer: FaultAnswer): Fault {
  let left = count
  return (call) => {
    if (left === 0 || !fits(call)) return null
    left -= 1
    return answer
  }
}

async function misbehave(answer: FaultAnswer, response: ServerResponse): Promise<boolean> {
  switch (answer.kind) {
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, answer.ms))
      return false
    case 'status': {
      const retry = answer.retryAfterS === undefined ? {} : { 'retry-after': `${answer.retryAfterS}` }
      response.writeHead(answer.status, { 'content-type': 'application/json', ...retry })
      response.end(JSON.stringify(statusBody(answer.status)))
      return true
    }
    case 'error-event':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(`${JSON.stringify({ type: 'ERROR', object: statusBody(answer.code) })}\n`)
      return true
    case 'truncate':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"type":"MODIFIED","object":{"metadata":{"na')
      setTimeout(() => response.destroy(), 5)
      return true
  }
}

function send(watch: Watch, type: string, object: unknown): void {
  if (!watch.isSilent && !watch.response.writableEnded)
    watch.response.write(`${JSON.stringify({ type, object })}\n`)
}

function sendChange(watch: Watch, { type, object }: Change): void {
  send(watch, type, object)
}

type Place = {
  readonly collection: string
  readonly namespace: string
  readonly name: string
  readonly sub: string
}

/** Parses `/apis/G/V/namespaces/NS/plural/name/sub` or `/apis/G/V/plural`, and the same paths below `/api/v1`. */
function parse(path: string): Place {
  const parts = path.split('/').filter((part) => part !== '')
  const base = parts.splice(0, parts[0] === 'api' ? 2 : 3)
  const isNamespaced = parts[0] === 'namespaces' && parts.length > 2
  const namespace = isNamespaced ? (parts.splice(0, 2)[1] ?? '') : ''
  const [plural = '', name = '', sub = ''] = parts
  return { collection: `${base.join('/')}/${plural}`, namespace, name, sub }
}

function matches(path: string, collection: string, object: FakeObject): boolean {
  const place = parse(path)
  return (
    place.collection === collection &&
    (place.namespace === '' || place.namespace === object.metadata.namespace)
  )
}

type Reply = { readonly status: number; readonly body: unknown }
const fail = (status: number): Reply => ({ status, body: statusBody(status) })

function serve(store: FakeKubeStore, call: FakeCall, body: FakeObject | undefined): Reply {
  const place = parse(call.path)
  const known = store.get(place.collection, place.namespace, place.name)
  switch (call.method) {
    case 'GET':
      if (place.name === '') return list(store, place, call.query)
      return known === undefined ? fail(404) : { status: 200, body: known }
    case 'POST':
      return create(store, place, body)
    case 'PUT': {
      const next = store.replace(place.collection, body as FakeObject)
      return next === null ? fail(409) : { status: 200, body: next }
    }
    case 'PATCH':
      return known === undefined
        ? applyNew(store, place, body as FakeObject)
        : apply(store, place, { known, patch: body as FakeObject })
    default:
      return store.remove(place.collection, place.namespace, place.name) === null
        ? fail(404)
        : { status: 200, body: statusBody(200) }
  }
}

function list(store: FakeKubeStore, { collection, namespace }: Place, query: URLSearchParams): Reply {
  const label = query.get('labelSelector')?.split('=')
  const name = query.get('fieldSelector')?.split('=')[1]
  const fitting = store.list(collection).filter(({ metadata }) => {
    const labels = (metadata['labels'] ?? {}) as Record<string, string>
    const isLabelled = label === undefined || labels[label[0] ?? ''] === label[1]
    return (
      isLabelled &&
      (name === undefined || metadata.name === name) &&
      (!namespace || metadata.namespace === namespace)
    )
  })
  const from = Number(query.get('continue') ?? 0)
  const to = from + Number(query.get('limit') ?? fitting.length)
  const more = to < fitting.length ? { continue: `${to}` } : {}
  const metadata = { resourceVersion: `${store.revision()}`, ...more }
  return { status: 200, body: { kind: 'List', metadata, items: fitting.slice(from, to) } }
}

function create(store: FakeKubeStore, { collection, namespace }: Place, body: FakeObject | undefined): Reply {
  if (body === undefined) return fail(400)
  const generated = `${String(body.metadata['generateName'] ?? '')}${store.revision()}`
  const metadata = { ...body.metadata, name: body.metadata.name ?? generated }
  const place = namespace === '' ? {} : { namespace }
  const created = store.create(collection, { ...body, metadata: { ...metadata, ...place } })
  return created === null ? fail(409) : { status: 201, body: created }
}

/** Applies a patch as server-side apply does for a single field manager. Replaces status and finalizers as a whole. */
function apply(
  store: FakeKubeStore,
  { collection, namespace, name, sub }: Place,
  { known, patch }: { known: FakeObject; patch: FakeObject },
): Reply {
  if (patch.metadata?.uid !== undefined && patch.metadata.uid !== known.metadata.uid) return fail(409)
  const { finalizers } = patch.metadata ?? {}
  const metadata: FakeObject['metadata'] = {
    ...known.metadata,
    ...(sub === '' && finalizers !== undefined ? { finalizers } : {}),
  }
  const { metadata: _m, apiVersion: _a, kind: _k, ...rest } = patch
  const stored = store.replace(collection, { ...known, ...rest, metadata } as FakeObject)
  const isOver =
    metadata['deletionTimestamp'] !== undefined && (finalizers as string[] | undefined)?.length === 0
  if (isOver) store.remove(collection, namespace, name)
  return stored === null ? fail(409) : { status: 200, body: stored }
}

/** Creates the object, as server-side apply does. A patch of a status, or of an object with a uid, needs the object. */
function applyNew(store: FakeKubeStore, place: Place, patch: FakeObject): Reply {
  const isPossible = place.sub === '' && patch.metadata?.uid === undefined
  return isPossible ? create(store, place, patch) : fail(404)
}

function statusBody(code: number): object {
  const reason = { 404: 'NotFound', 409: 'Conflict', 410: 'Expired', 429: 'TooManyRequests' }[code] ?? 'Other'
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message: `the fake says ${reason}`,
    metadata: {},
  }
}

function configOf(server: string): KubeConfig {
  const config = new KubeConfig()
  config.loadFromString(fakeKubeconfig(server))
  return config
}

/** Returns a kubeconfig as JSON, which is valid YAML, for programs that read a file. */
export function fakeKubeconfig(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'fake', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'fake', user: { token: 'fake' } }],
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
    'current-context': 'fake',
  })
}
