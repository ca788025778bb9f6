import { existsSync, readFileSync } from 'node:fs'
import { ChaperoneError } from '../../core/errors.ts'
import type { Invocation } from './command.ts'
import { type DataFolder, type RunFile, readRunFile } from './data-folder.ts'

export type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** A control plane or a gateway's internal API. */
export type ApiClient = {
  readonly url: string
  /** Throws `not_ready` when nothing answers; every other answer is returned. */
  send(method: string, path: string, body?: unknown): Promise<Answer>
  /** Throws what the server said when it is not 2xx. */
  call<T = Readonly<Record<string, unknown>>>(method: string, path: string, body?: unknown): Promise<T>
}

/** A bearer token, or the cookie of a session. */
export type Credential = string | { readonly cookie: string }

export function createClient(
  url: string,
  credential: Credential,
  what: string,
  timeoutMs = 15_000,
): ApiClient {
  const proof =
    typeof credential === 'string' ? { authorization: `Bearer ${credential}` } : { cookie: credential.cookie }
  const send = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await reach(url + path, what, {
      method,
      headers: {
        ...proof,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { status: response.status, body: asObject(await response.text()) }
  }
  return {
    url,
    send,
    async call<T>(method: string, path: string, body?: unknown): Promise<T> {
      return refuseUnsuccessful(what, { method, path }, await send(method, path, body))
    },
  }
}

/** The body of a 2xx. Throws what the server said otherwise. */
export function refuseUnsuccessful<T>(
  what: string,
  { method, path }: { readonly method: string; readonly path: string },
  answer: Answer,
): T {
  if (answer.status >= 200 && answer.status < 300) return answer.body as T
  throw new ChaperoneError('conflict', { detail: refusalText(what, method, path, answer) })
}

/** The control plane of the running installation, or of CHAPERONE_URL with CHAPERONE_TOKEN. */
export function controlPlane(invocation: Pick<Invocation, 'folder' | 'env'>): ApiClient {
  const { CHAPERONE_URL: url, CHAPERONE_TOKEN: token } = invocation.env
  if (url) return createClient(url.replace(/\/+$/, ''), token ?? '', 'control plane')
  const run = running(invocation.folder)
  return createClient(run.base_url, readToken(invocation.folder.adminToken), 'control plane')
}

/** The local gateway's internal API. */
export function localGateway(folder: DataFolder): ApiClient {
  const run = running(folder)
  if (run.gateway_url === null) {
    throw new ChaperoneError('conflict', {
      detail: 'This installation runs without a gateway (--no-gateway): there is no traffic to govern here.',
    })
  }
  return createClient(run.gateway_url, readToken(folder.gatewayToken), 'gateway')
}

export function running(folder: DataFolder): RunFile {
  const run = readRunFile(folder)
  if (run !== undefined) return run
  throw new ChaperoneError('not_ready', {
    detail:
      `Chaperone does not run on ${folder.root}. Start it: chaperone up --data ${folder.root}\n` +
      'For another folder give --data DIR; for a control plane elsewhere set CHAPERONE_URL and CHAPERONE_TOKEN.',
  })
}

function readToken(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  throw new ChaperoneError('conflict', {
    detail: `The token file ${file} is missing; start chaperone up again to have it made.`,
  })
}

async function reach(url: string, what: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    const reason =
      cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause)
    throw new ChaperoneError('not_ready', {
      detail: `The ${what} does not answer at ${new URL(url).origin} (${reason}). Is it running? chaperone status`,
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

function refusalText(what: string, method: string, path: string, { status, body }: Answer): string {
  const said = [body['error'], body['message'], body['details'], body['detail']]
    .filter((part): part is string => typeof part === 'string' && part !== '')
    .filter((part, index, all) => all.indexOf(part) === index)
  // A refusal is about what was asked for, in the server's own words; anything else is about the server.
  if (status < 500 && status !== 401 && said.length > 0) return said.join(': ')
  return `The ${what} answered ${status} to ${method} ${path.split('?')[0]}: ${said.join(': ') || 'no reason given'}`
}
