import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sleep } from '../../runtime/sleep.ts'
import type { Review } from '../metrics.ts'
import { type AdmissionResponse, AdmissionReview, reviewBody } from './admission-review.ts'
import { WEBHOOK_PATHS } from './configuration.ts'
import { createGatewayWait, type GatewayWait } from './gateway-wait.ts'
import type { Leaf } from './leaf.ts'
import { type ManifestRules, reviewManifest } from './review-manifest.ts'
import { isWithoutDependency, isWithoutGateway, type ReviewDeps, reviewPod } from './review-pod.ts'

/**
 * Maximum size of a review, which contains the old and the new version of a pod. A version has at most 1.5 MiB in etcd.
 */
const MAX_BODY_BYTES = 8 * 1024 * 1024
/**
 * Idle timeout of a connection in milliseconds. The idle timeout of the API server is shorter, so that no connection is
 * closed here during a request.
 */
const KEEP_ALIVE_MS = 120_000
/** Time in milliseconds for which a stopping server waits for a last request on each open connection. */
const LAST_REQUEST_MS = 2_000
/** Interval in milliseconds at which a stopping server counts its connections. */
const COUNT_MS = 25

export type WebhookDeps = ReviewDeps &
  ManifestRules & {
    readonly host: string
    /** Port to listen on; 0: any free port. */
    readonly port: number
    readonly leaf: Leaf
    /**
     * False until the informer caches are filled. Until then the response is 503, so that no pod is admitted
     * ungoverned.
     */
    readonly isReady: () => boolean
    /** Called after each review, with its duration in milliseconds. `failed`: an unexpected error. */
    readonly onReview: (review: Review, durationMs: number) => void
    readonly onFailure: (error: unknown) => void
  }

export type WebhookServer = AsyncDisposable & {
  readonly port: number
  /** Sets the certificate of new connections. */
  useLeaf(leaf: Leaf): void
}

/** Serves admission reviews over HTTPS. A pod is refused when its review fails with an error. */
export async function openWebhookServer(deps: WebhookDeps): Promise<WebhookServer> {
  const serving = { ...deps, gatewayKnown: createGatewayWait() }
  let isStopping = false
  const server = createServer({ ...tls(deps.leaf), keepAlive: true }, (request, response) => {
    if (isStopping) response.setHeader('connection', 'close')
    serve(serving, request, response).catch((error: unknown) => {
      deps.onFailure(error)
      if (!response.headersSent) answer(response, 500, { error: 'Internal error' })
    })
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.requestTimeout = 10_000
  server.on('tlsClientError', () => undefined)
  server.listen(deps.port, deps.host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    useLeaf: (leaf) => server.setSecureContext(tls(leaf)),
    [Symbol.asyncDispose]() {
      isStopping = true
      return close(server)
    },
  }
}

function tls({ certPem, keyPem }: Leaf) {
  return { cert: certPem, key: keyPem, minVersion: 'TLSv1.2' as const }
}

type Path = (typeof WEBHOOK_PATHS)[keyof typeof WEBHOOK_PATHS]
type Serving = WebhookDeps & { readonly gatewayKnown: GatewayWait }

async function serve(deps: Serving, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { gatewayKnown } = deps
  const path = Object.values(WEBHOOK_PATHS).find((known) => known === (request.url ?? '').split('?')[0])
  if (path === undefined) return answer(response, 404, { error: 'Not found' })
  if (request.method !== 'POST') return answer(response, 405, { error: 'Method not allowed: use POST' })
  // Reviews of custom resources do not read the informer caches, so they do not depend on `isReady`.
  if (path !== WEBHOOK_PATHS.manifests && !deps.isReady())
    return answer(response, 503, {
      error:
        'Not ready: the operator has not read all objects from the API server yet. Try again in a moment',
    })
  const startedAt = performance.now()
  const body = await readBody(request)
  if (body === null)
    return answer(response, 413, { error: `The body is longer than ${MAX_BODY_BYTES} bytes` })
  const parsed = AdmissionReview.safeParse(parse(body))
  if (!parsed.success)
    return answer(response, 400, { error: 'The body is not an AdmissionReview of admission.k8s.io/v1' })
  const { request: asked } = parsed.data
  await gatewayKnown(() => path !== WEBHOOK_PATHS.manifests && isMissing(deps, asked, path))
  const result = reviewRequest(deps, asked, path)
  answer(response, 200, reviewBody(asked.uid, result))
  const webhook = path === WEBHOOK_PATHS.manifests ? 'manifests' : 'pods'
  deps.onReview({ webhook, outcome: outcomeOf(result) }, performance.now() - startedAt)
}

/**
 * Reports whether the Gateway, the Sandbox or the RuntimeClass of the pod is missing. Returns false on an error,
 * because the review reports the same error.
 */
function isMissing(deps: WebhookDeps, request: Parameters<typeof reviewPod>[0], path: Path): boolean {
  try {
    const isRequired = path === WEBHOOK_PATHS.required
    return isWithoutGateway(request, isRequired, deps) || isWithoutDependency(request, deps)
  } catch {
    return false
  }
}

function reviewRequest(
  deps: WebhookDeps,
  request: Parameters<typeof reviewPod>[0],
  path: Path,
): AdmissionResponse {
  try {
    if (path === WEBHOOK_PATHS.manifests) return reviewManifest(request, deps)
    return reviewPod(request, path === WEBHOOK_PATHS.required, deps)
  } catch (error) {
    deps.onFailure(error)
    // The object is allowed, because the control plane validates it again.
    if (path === WEBHOOK_PATHS.manifests)
      return {
        allowed: true,
        warnings: [
          'The object was admitted without validation, because the operator failed to validate it. Check the status of the object, and the log of the operator.',
        ],
      }
    return {
      allowed: false,
      refused: { code: 500, message: 'the injector failed; see the log of the operator' },
    }
  }
}

function outcomeOf({ allowed, patch, refused }: AdmissionResponse) {
  if (!allowed) return refused?.code === 500 ? 'failed' : 'refused'
  return patch === undefined ? 'untouched' : 'injected'
}

/** Reads the body of a request. Returns null for a body above the limit, which is not read to its end. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES) return null
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The schema rejects undefined, so the request is refused.
    return undefined
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  // Closes the connection if the body was not read to its end.
  const isRead = response.req.complete
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(isRead ? {} : { connection: 'close' }),
  })
  response.end(text)
}

/**
 * Closes the server gracefully. The API server does not retry a POST, so a request on a connection that is being closed
 * would fail the creation of its pod. Therefore each open connection is closed with the response to its next request,
 * or after 2 s without a request. Requests in flight then have another 2 s.
 */
async function close(server: Server): Promise<void> {
  const untilMs = performance.now() + LAST_REQUEST_MS
  while (performance.now() < untilMs && (await connections(server)) > 0) await sleep(COUNT_MS)
  // A connection whose request has arrived, but is not read yet, would count as idle.
  await nextTurn()
  const closed = once(server, 'close')
  server.close()
  const timer = setTimeout(() => server.closeAllConnections(), LAST_REQUEST_MS)
  await closed
  clearTimeout(timer)
}

function connections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}
