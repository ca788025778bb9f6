import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP } from 'node:net'
import { text } from 'node:stream/consumers'
import { ChaperoneError } from '../../core/errors.ts'
import { withoutBrackets } from '../../core/request/authority-text.ts'

export type ControlPlaneCall = {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  /** Replica to call. Without it, the call goes to any replica behind the URL of the control plane. */
  readonly replica?: Replica
  readonly signal?: AbortSignal
  /** Time limit of the call. Default 15 s. */
  readonly timeoutMs?: number
}

/** One replica of the control plane. */
export type Replica = {
  /** URL of the replica, without a trailing slash. */
  readonly url: string
  /** IP address to connect to; null when the host of `url` must be resolved. */
  readonly address: string | null
}

/**
 * Calls the control plane with the operator token. Rejects with `not_ready` when it cannot be reached or answers 401,
 * 429 or 5xx (retry), and with `validation` for any other error status (do not retry).
 */
export type ControlPlaneHttp = Disposable & { call(call: ControlPlaneCall): Promise<unknown> }

export type ControlPlaneHttpDeps = {
  readonly controlPlaneUrl: string
  readonly operatorTokenFile: string
  /** PEM file with the certificate authority (CA) of the control plane; absent or null to trust the public CAs. */
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
    // The token file and the CA file are read on every call, because they are rotated and can appear after the start.
    const token = await read(operatorTokenFile, 'operator token')
    const ca = isTls && controlPlaneCaFile !== null ? { ca: await read(controlPlaneCaFile, 'CA') } : {}
    const headers = {
      authorization: `Bearer ${token.trim()}`,
      'content-type': 'application/json',
      host: url.host,
    }
    const target = targetOf(url, replica?.address ?? null)
    const options: https.RequestOptions = { method, headers, signal: limitOf(call), ...target, ...ca }
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
      const detail = `The control plane answered ${status} to ${call.method} ${call.path}: ${body.slice(0, 500)}`
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

/**
 * Returns the options that connect to the address. Host header, SNI and certificate check keep the name of the control
 * plane.
 */
function targetOf(url: URL, address: string | null): https.RequestOptions {
  if (address === null) return {}
  const name = withoutBrackets(url.hostname)
  return { hostname: address, ...(isIP(name) === 0 ? { servername: name } : {}) }
}

/** Reports whether a call exceeded its time limit. The control plane may still complete the call. */
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
    const why = reasonOf(cause)
    throw new ChaperoneError('not_ready', {
      detail: `The control plane cannot be reached (${path}): ${why}`,
      cause,
    })
  }
}

/**
 * Returns the message of an error, or its code when the message is empty, as for an error about several failed
 * addresses.
 */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.message || ('code' in cause ? String(cause.code) : cause.name)
}

async function read(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new ChaperoneError('not_ready', {
      detail: `The ${what} file ${file} cannot be read. Check its path and its permissions.`,
      cause,
    })
  }
}
