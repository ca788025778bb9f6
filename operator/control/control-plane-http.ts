import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP } from 'node:net'
import { text } from 'node:stream/consumers'
import { ChaperoneError } from '../../core/errors.ts'

export type ControlPlaneCall = {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** Of one replica; absent = wherever the address of the control plane leads. */
  readonly replica?: Replica
  readonly signal?: AbortSignal
  /** Default 15 s. */
  readonly timeoutMs?: number
}

/** One replica of the control plane: the address to dial, behind the name that is asked for. */
export type Replica = {
  /** Without a slash at the end. */
  readonly url: string
  /** Dialled instead of what the name of `url` resolves to; null = that. */
  readonly address: string | null
}

/**
 * Calls the control plane as the operator. Rejects with `not_ready` while it cannot be reached or answers 401, 429 or
 * 5xx (worth repeating), and with `validation` when it refuses the call (not worth repeating).
 */
export type ControlPlaneHttp = Disposable & { call(call: ControlPlaneCall): Promise<unknown> }

export type ControlPlaneHttpDeps = {
  readonly controlPlaneUrl: string
  readonly operatorTokenFile: string
  /** PEM; absent = the public authorities. */
  readonly controlPlaneCaFile?: string | null
}

const TIMEOUT_MS = 15_000

export function createControlPlaneHttp(deps: ControlPlaneHttpDeps): ControlPlaneHttp {
  const { controlPlaneUrl, operatorTokenFile, controlPlaneCaFile = null } = deps
  const agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) }

  async function send(call: ControlPlaneCall): Promise<{ status: number; body: string }> {
    const { method, path, body, replica } = call
    const url = new URL(`${replica?.url ?? controlPlaneUrl}${path}`)
    const isTls = url.protocol === 'https:'
    // Both are read on every call: they are renewed on disk, and may appear after the start.
    const token = await read(operatorTokenFile, 'operator token')
    const ca = isTls && controlPlaneCaFile !== null ? { ca: await read(controlPlaneCaFile, 'CA') } : {}
    const headers = {
      ...{ authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' },
      host: url.host,
    }
    const dialled = dialling(url, replica?.address ?? null)
    const options: https.RequestOptions = { method, headers, signal: limitOf(call), ...dialled, ...ca }
    const request = isTls
      ? https.request(url, { ...options, agent: agents.https })
      : http.request(url, { ...options, agent: agents.http })
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    request.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = await answered
    return { status: response.statusCode ?? 0, body: await text(response) }
  }

  return {
    async call(call) {
      const { status, body } = await reach(call, () => send(call))
      if (status >= 200 && status < 300) return JSON.parse(body)
      const detail = `the control plane answered ${status} to ${call.method} ${call.path}: ${body.slice(0, 500)}`
      throw new ChaperoneError(isTemporary(status) ? 'not_ready' : 'validation', {
        detail,
        extra: { status },
      })
    },
    [Symbol.dispose]() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

function limitOf({ signal, timeoutMs = TIMEOUT_MS }: ControlPlaneCall): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs)
  return signal === undefined ? limit : AbortSignal.any([signal, limit])
}

/** The address is dialled, the name of the control plane is asked for and checked. */
function dialling(url: URL, address: string | null): https.RequestOptions {
  if (address === null) return {}
  const name = url.hostname.replace(/^\[|\]$/g, '')
  return { hostname: address, ...(isIP(name) === 0 ? { servername: name } : {}) }
}

/** The call took longer than its limit; the control plane may still carry it out. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'TimeoutError' || isTimeout(error.cause)
}

function isTemporary(status: number): boolean {
  return status >= 500 || status === 429 || status === 401
}

async function reach<T>({ path }: ControlPlaneCall, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof ChaperoneError) throw cause
    const why = whyOf(cause)
    throw new ChaperoneError('not_ready', {
      detail: `the control plane cannot be reached (${path}): ${why}`,
      cause,
    })
  }
}

/** Where a name has several addresses and none answers, the error has a code and no words. */
function whyOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.message || ('code' in cause ? String(cause.code) : cause.name)
}

async function read(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new ChaperoneError('not_ready', { detail: `the ${what} file ${file} cannot be read`, cause })
  }
}
