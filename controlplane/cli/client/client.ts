import { existsSync, readFileSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { isConfidential } from '../../../core/loopback.ts'
import type { Prover } from '../../../core/wire/access/installation-proof.ts'
import { HEADERS } from '../../../core/wire/schema/limits.ts'
import type { Invocation } from '../command.ts'
import { type DataFolder, dataFolder, type RunFile, readRunFile } from '../state/data-folder.ts'
import { lockHolder } from '../state/folder-lock.ts'
import { realFolderPath } from '../state/folder-ownership.ts'
import { installationFolders, requireInstallationKey } from './installation-key.ts'
import { printBody } from './print-body.ts'
import { createServerProof, type Prove } from './server-proof.ts'

export type ApiResponse = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** HTTP client of a control plane or of a gateway's internal API. */
export type ApiClient = {
  readonly url: string
  /** Authenticates the server. The client sends neither a credential nor a body before this call resolves. */
  prove(): Promise<void>
  /** Resolves with the response, whatever its status. Throws `not_ready` when the server is unreachable. */
  send(method: string, path: string, body?: unknown): Promise<ApiResponse>
  /** Returns the body of a 2xx response. Throws the server's error for any other response. */
  call<T = Readonly<Record<string, unknown>>>(method: string, path: string, body?: unknown): Promise<T>
  /** Sends a GET request and returns the text of a 2xx response. Throws the server's error for any other response. */
  text(path: string): Promise<string>
  /**
   * Passes the text of a 2xx response to GET to `print` as it arrives. Throws the server's error for any other
   * response, and `not_ready` when the response ends early. `print` adds a line end to the text of each call.
   */
  lines(path: string, print: (lines: string) => void): Promise<void>
}

/** A client certificate and its private key, both in PEM. */
export type ClientCertificate = { readonly cert: string; readonly key: string }
/** Credential of API requests: a bearer token, the cookie of a session, or a client certificate. */
export type Credential = string | { readonly cookie: string } | ClientCertificate

/**
 * Creates an HTTP client of one server.
 *
 * @param what Name of the server in error texts.
 * @param proof Authenticates the server. Absent for a server that this process started, or that TLS authenticates.
 */
export function createClient(
  url: string,
  credential: Credential,
  what: string,
  proof: Prove = () => Promise.resolve(),
): ApiClient {
  const prove = () =>
    proof(async (path) => asObject(await (await reach(url + path, what, bounded('GET'))).text()))
  const { header, send: sendAs } = identityOf(credential)
  const send = async (method: string, path: string, body?: unknown): Promise<ApiResponse> => {
    await prove()
    const init = {
      ...bounded(method),
      headers: {
        ...header,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const response = await reach(url + path, what, init, sendAs)
    return { status: response.status, body: asObject(await response.text()) }
  }
  return {
    url,
    prove,
    send,
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      return requireSuccess(what, { method, path }, await send(method, path, body))
    },
    async text(path) {
      await prove()
      const response = await reach(url + path, what, { ...bounded('GET'), headers: { ...header } }, sendAs)
      const text = await response.text()
      requireSuccess(what, { method: 'GET', path }, { status: response.status, body: asObject(text) })
      return text
    },
    async lines(path, print) {
      await prove()
      const idle = new AbortController()
      const timer = setTimeout(() => idle.abort(new Error('no data for 15 s')), TIMEOUT_MS)
      try {
        const init: Init = { method: 'GET', redirect: 'error', signal: idle.signal, headers: { ...header } }
        const response = await reach(url + path, what, init, sendAs)
        if (response.status !== 200 || response.body === null) {
          const body = asObject(await response.text())
          requireSuccess(what, { method: 'GET', path }, { status: response.status, body })
        } else await printBody(response.body, print, () => timer.refresh())
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

type Init = {
  readonly method: string
  readonly redirect: 'error'
  readonly signal: AbortSignal
  readonly headers?: Record<string, string>
  readonly body?: string
}
type Send = (url: string, init: Init) => Promise<Received>
type Received = Pick<Response, 'status' | 'text'> & { readonly body: AsyncIterable<Uint8Array> | null }
type Identity = { readonly header: Readonly<Record<string, string>>; readonly send: Send }

function identityOf(credential: Credential): Identity {
  if (typeof credential === 'string')
    return { header: { authorization: `Bearer ${credential}` }, send: fetch }
  if ('cookie' in credential) return { header: { cookie: credential.cookie }, send: fetch }
  return { header: { [HEADERS.caller]: 'certificate' }, send: createCertificateSend(credential) }
}

function createCertificateSend(connect: ClientCertificate): Send {
  // Imports undici on first use, because the import takes longer than most commands.
  const loaded = import('undici').then((undici) => ({ ...undici, dispatcher: new undici.Agent({ connect }) }))
  return async (url, init) => {
    const { fetch: send, dispatcher } = await loaded
    return send(url, { ...init, dispatcher })
  }
}

/** Returns the body of a 2xx response. Throws the server's error for any other response. */
export function requireSuccess<T>(
  what: string,
  { method, path }: { readonly method: string; readonly path: string },
  answer: ApiResponse,
): T {
  if (answer.status >= 200 && answer.status < 300) return answer.body as T
  throw new ChaperoneError('conflict', { detail: refusalText(what, method, path, answer) })
}

/**
 * Sends a GET request and returns the body of the response. Returns null for the status 403. Throws any other error.
 */
export async function readIfAllowed<T>(api: Pick<ApiClient, 'send'>, path: string): Promise<T | null> {
  const answer = await api.send('GET', path)
  if (answer.status === 403) return null
  return requireSuccess<T>('control plane', { method: 'GET', path }, answer)
}

const TIMEOUT_MS = 15_000

/**
 * Returns the options of a request. A redirect is an error, because fetch would follow the redirect and send the
 * credential to another server.
 */
function bounded(method: string): Init {
  return { method, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) }
}

type Place = Pick<Invocation, 'folder' | 'env'>

/**
 * Creates a client of the control plane at CHAPERONE_URL, with the credential CHAPERONE_TOKEN. When CHAPERONE_URL is
 * not set, creates a client of the running local installation. TLS authenticates the server at CHAPERONE_URL. The
 * installation key in the user's home folder authenticates a local server.
 *
 * @param credential Credential to use instead of the token of the environment or of the data folder.
 */
export function controlPlane({ env, ...place }: Place, credential?: Credential): ApiClient {
  const { CHAPERONE_URL: url } = env
  if (url) return createClient(confidential(url), credential ?? givenCredential(env), 'control plane')
  const { folder } = place
  const run = requireRunFile(folder, env)
  const proof = proofOf({ env, folder }, 'control_plane', run.base_url)
  return createClient(run.base_url, credential ?? readToken(folder.adminToken), 'control plane', proof)
}

/**
 * Returns the credential for CHAPERONE_URL: a client certificate and its key (PEM) if given, otherwise a bearer
 * token.
 */
function givenCredential(env: Place['env']): Credential {
  const { CHAPERONE_TOKEN: token = '', CHAPERONE_CLIENT_CERT: cert, CHAPERONE_CLIENT_KEY: key } = env
  return cert && key ? { cert, key } : token
}

/**
 * Returns the key under which the session of an installation is stored: CHAPERONE_URL if set, otherwise the data
 * folder of the local installation. The address of the local installation is not a suitable key, because another
 * installation may reuse its port.
 */
export function sessionStoreKey({ env, ...place }: Place): string {
  const { CHAPERONE_URL: url } = env
  return url ? confidential(url) : realFolderPath(place.folder.root)
}

function proofOf({ env, folder }: Place, prover: Prover, url: string): Prove {
  return createServerProof(url, prover, () => requireInstallationKey(env, folder.root))
}

function confidential(url: string): string {
  if (URL.canParse(url) && isConfidential(url)) return url.replace(/\/+$/, '')
  throw new ChaperoneError('conflict', {
    detail: `CHAPERONE_URL is "${url}". Set it to an https address: over http, tokens and passwords are sent in clear text, which is only allowed for loopback addresses.`,
  })
}

/** Creates a client of the local gateway's internal API. */
export function localGateway({ folder, env }: Place): ApiClient {
  const run = requireRunFile(folder)
  if (run.gateway_url === null) {
    throw new ChaperoneError('conflict', {
      detail:
        'This installation runs without a gateway (--no-gateway). Start it with a gateway: chaperone up',
    })
  }
  const proof = proofOf({ env, folder }, 'gateway', run.gateway_url)
  return createClient(run.gateway_url, readToken(folder.gatewayToken), 'gateway', proof)
}

/**
 * Reads the run file, which contains the addresses of a running installation. Throws `not_ready` when the
 * installation does not run.
 *
 * @param env Locates other installations of this user, so that the error lists those that run.
 */
export function requireRunFile(folder: DataFolder, env?: NodeJS.ProcessEnv): RunFile {
  const run = readRunFile(folder)
  if (run !== undefined) return run
  const others =
    env === undefined ? [] : runningFolders(env).map((root) => `Chaperone runs with --data ${root}\n`)
  throw new ChaperoneError('not_ready', {
    detail:
      `Chaperone does not run in ${folder.root}. Start Chaperone: chaperone up --data ${folder.root}\n` +
      others.join('') +
      'For another data folder give --data DIR; for a remote control plane set CHAPERONE_URL and CHAPERONE_TOKEN.',
  })
}

function runningFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return installationFolders(env).filter((root) => lockHolder(dataFolder(root).lock) !== undefined)
}

function readToken(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw new ChaperoneError('conflict', {
    detail: `The token file ${file} is missing. Restart chaperone up, which creates it.`,
  })
}

async function reach(url: string, what: string, init: Init, send: Send = fetch): ReturnType<Send> {
  try {
    return await send(url, init)
  } catch (cause) {
    const reason =
      cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
    throw new ChaperoneError('not_ready', {
      detail: `The ${what} does not answer at ${new URL(url).origin} (${reason}). Check that it runs: chaperone status`,
      cause,
    })
  }
}

function asObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null
      ? (parsed as Record<string, unknown>)
      : { value: parsed }
  } catch (error) {
    if (error instanceof SyntaxError) return { text }
    throw error
  }
}

function refusalText(what: string, method: string, path: string, { status, body }: ApiResponse): string {
  const texts = [body['error'], body['message'], body['details'], body['detail']]
    .filter((part): part is string => typeof part === 'string' && part !== '')
    .filter((part, index, all) => all.indexOf(part) === index)
  // For a 4xx status other than 401, returns only the text of the server, because the error is about the request. For
  // any other status, the text also names the server and the endpoint.
  if (status < 500 && status !== 401 && texts.length > 0) return `${texts.join(': ')}${manifestIn(body)}`
  return `The ${what} answered ${status} to ${method} ${path.split('?')[0]}: ${texts.join(': ') || 'no reason given'}`
}

/**
 * Returns the manifest text in an error response, for display. The control plane refuses an edit of an object that
 * comes from a manifest, and returns the manifest to commit instead.
 */
function manifestIn({ manifest }: ApiResponse['body']): string {
  return typeof manifest === 'string' && manifest !== '' ? `\n---\n${manifest.trimEnd()}` : ''
}
