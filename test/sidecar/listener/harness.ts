import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { ChaperoneError, ERRORS } from '../../../core/errors.ts'
import { failureReply } from '../../../sidecar/admin/api-http.ts'
import type { ApiReply, ApiRequest, FrontDeps, FrontLimits } from '../../../sidecar/listener/deps.ts'
import { createFront, type Front } from '../../../sidecar/listener/front.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import {
  type CertificateAuthority,
  loadCertificateAuthority,
} from '../../../sidecar/tls/certificate-authority.ts'
import { createLeafCache } from '../../../sidecar/tls/leaf-cache.ts'

export type Handle = (exchange: Exchange) => Promise<void>

export type TestFront = AsyncDisposable & {
  readonly front: Front
  readonly port: number
  readonly ca: CertificateAuthority
  /** File with the CA certificate, for clients that read a file. */
  readonly caFile: string
  /** Everything that reached the pipeline's door, in order. */
  readonly exchanges: Exchange[]
  readonly apiRequests: Array<ApiRequest & { readonly body: Buffer }>
  readonly failures: unknown[]
  /** Hosts for which certificates were asked for, of owned hosts and of refused ones. */
  readonly minted: string[]
  readonly mintedForRefusals: string[]
  /** `AGENT LIMIT` of every connection that was refused or evicted. */
  readonly quotas: string[]
}

export type TestFrontOptions = {
  readonly handle?: Handle
  /** What becomes of exchanges that could not be read. */
  readonly refuse?: Handle
  readonly admit?: FrontDeps['admit']
  readonly agentOf?: FrontDeps['agentOf']
  readonly prefersHttp1?: FrontDeps['prefersHttp1']
  readonly api?: (request: ApiRequest) => Promise<ApiReply>
  readonly limits?: Partial<FrontLimits>
}

/** A real front on a free loopback port, with a fresh certificate authority and small functions behind it. */
export async function startFront(options: TestFrontOptions = {}): Promise<TestFront> {
  const folder = await mkdtemp(join(tmpdir(), 'front-'))
  const ca = await loadCertificateAuthority({
    certFile: join(folder, 'ca.crt'),
    keyFile: join(folder, 'ca.key'),
    bundleFile: join(folder, 'bundle.crt'),
  })
  const exchanges: Exchange[] = []
  const apiRequests: Array<ApiRequest & { readonly body: Buffer }> = []
  const failures: unknown[] = []
  const quotas: string[] = []
  const minted: string[] = []
  const mintedForRefusals: string[] = []
  const leafOf = (names: string[]) => {
    const mint: CertificateAuthority['mint'] = (host) => {
      names.push(host)
      return ca.mint(host)
    }
    return createLeafCache({ ...ca, mint }, { max: 100 })
  }
  const handle = options.handle ?? echo
  const note = (fields: unknown): void => void failures.push(fields)
  const front = createFront({
    leaf: leafOf(minted),
    refusalLeaf: leafOf(mintedForRefusals),
    canRefuseInside: true,
    handle(exchange) {
      exchanges.push(exchange)
      return exchange.malformed === undefined ? handle(exchange) : (options.refuse ?? refuse)(exchange)
    },
    admit: options.admit ?? (() => 'intercept'),
    prefersHttp1: options.prefersHttp1 ?? (() => false),
    async api(request) {
      const body = await request.readBody().catch((error: unknown) => error)
      if (body instanceof ChaperoneError) return failureReply(body)
      apiRequests.push({ ...request, body: body as Buffer })
      if (options.api !== undefined) return options.api(request)
      return { status: 200, headers: ['Content-Type', 'text/plain'], body: `api ${request.path}` }
    },
    newRequestId: () => `req_${exchanges.length}`,
    agentOf: options.agentOf ?? (({ kind, ...whose }) => ('agent' in whose ? whose.agent : 'tester')),
    onQuota: (agent, limit) => void quotas.push(`${agent} ${limit}`),
    log: { debug: () => {}, warn: note, error: note },
    limits: {
      maxConnections: 100,
      maxConnectionsPerAgent: 100,
      maxTunnelsPerAgent: 100,
      maxUnauthenticated: 100,
      unauthenticatedTimeoutMs: 10_000,
      idleTimeoutMs: 20_000,
      headTimeoutMs: 10_000,
      ...options.limits,
    },
  })
  const port = await front.listen(0, '127.0.0.1')
  return {
    front,
    port,
    ca,
    caFile: join(folder, 'ca.crt'),
    exchanges,
    apiRequests,
    failures,
    quotas,
    minted,
    mintedForRefusals,
    async [Symbol.asyncDispose]() {
      await front.close(0)
      await rm(folder, { recursive: true })
    },
  }
}

/** What the pipeline does with what could not be parsed. */
async function refuse({ malformed, reply }: Exchange): Promise<void> {
  const { code, detail } = malformed ?? { code: 'internal', detail: '' }
  reply.send(
    ERRORS[code].status,
    ['Content-Type', 'application/json'],
    JSON.stringify({ error: ERRORS[code].error, detail }),
  )
}

/** Answers with what was understood, as JSON. */
async function echo(exchange: Exchange): Promise<void> {
  const { raw, body, reply } = exchange
  const bytes = await body.buffer(64 * 1024 * 1024)
  const answer = {
    method: raw.method,
    target: raw.target,
    headers: raw.rawHeaders,
    transport: exchange.transport,
    kind: exchange.kind,
    scheme: raw.scheme,
    sources: raw.sources,
    credentials: exchange.credentials,
    body: bytes?.toString('latin1').slice(0, 2_000),
    length: bytes?.length,
  }
  reply.send(200, ['Content-Type', 'application/json'], JSON.stringify(answer))
}

/** A raw client: collects what it gets, and waits for conditions instead of sleeping. */
export class RawClient {
  readonly socket: Socket
  received = ''
  isEnded = false
  isClosed = false
  error: Error | null = null

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')))
    socket.on('end', () => (this.isEnded = true))
    socket.on('close', () => (this.isClosed = true))
    socket.on('error', (error) => (this.error = error))
  }

  send(text: string | Buffer): this {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
    return this
  }

  async until(condition: (client: this) => boolean, what = 'the client to see it'): Promise<this> {
    await until(
      () => condition(this),
      () => `${what}; received so far: ${JSON.stringify(this.received.slice(-500))}`,
    )
    return this
  }

  /** Waits for the peer to end, and gives everything received. */
  async all(): Promise<string> {
    await this.until((client) => client.isEnded || client.isClosed, 'the connection to end')
    return this.received
  }
}

export async function rawClient(port: number, options: { allowHalfOpen?: boolean } = {}): Promise<RawClient> {
  const socket = connect({ port, host: '127.0.0.1', ...options })
  const client = new RawClient(socket)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return client
}

/** CONNECT and its 200. */
export async function tunnel(port: number, authority: string, headers = ''): Promise<RawClient> {
  const client = await rawClient(port)
  client.send(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${headers}\r\n`)
  await client.until(({ received }) => received.includes('\r\n\r\n'))
  if (!client.received.startsWith('HTTP/1.1 200')) throw new Error(`no tunnel: ${client.received}`)
  client.received = ''
  return client
}

export type TlsTunnelOptions = {
  readonly ca: string
  readonly host: string
  readonly servername?: string
  readonly alpn?: string[]
  readonly session?: Buffer
  readonly headers?: string
}

/** TLS inside a CONNECT tunnel, certificate verified with the test CA only. */
export async function tlsTunnel(port: number, options: TlsTunnelOptions): Promise<TLSSocket> {
  const { socket } = await tunnel(port, `${options.host}:443`, options.headers)
  socket.removeAllListeners('data')
  const secure = tlsConnect({
    socket,
    servername: options.servername ?? options.host,
    ca: options.ca,
    ...(options.alpn === undefined ? {} : { ALPNProtocols: options.alpn }),
    ...(options.session === undefined ? {} : { session: options.session }),
  })
  await new Promise<void>((resolve, reject) => {
    secure.once('secureConnect', resolve)
    secure.once('error', reject)
    secure.once('close', () => reject(new Error('closed during the handshake')))
  })
  return secure
}

export async function until(condition: () => boolean, what: () => string, timeoutMs = 60_000): Promise<void> {
  const start = performance.now()
  while (!condition()) {
    if (performance.now() - start > timeoutMs) throw new Error(`timed out waiting for ${what()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

export function bodyOf(response: string): string {
  return response.slice(response.indexOf('\r\n\r\n') + 4)
}
