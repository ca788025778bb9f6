import { readFile } from 'node:fs/promises'
import { ChaperoneError } from '../core/errors.ts'
import {
  type DesiredBody,
  DesiredReply,
  type ManifestProblem,
  OPERATOR_PATHS,
  type SweepBody,
  SweepReply,
} from '../core/wire/operator.ts'

/**
 * What the watcher tells the control plane. Every call rejects with `not_ready` while the control plane cannot be
 * reached or answers 5xx (worth repeating), and with `validation` when it refuses the call (not worth repeating).
 */
export type DesiredClient = {
  put(body: DesiredBody): Promise<DesiredReply>
  /** Also the only way that objects are removed: what is not named as present goes. */
  sweep(body: SweepBody): Promise<SweepReply>
  problems(problems: readonly ManifestProblem[]): Promise<void>
}

export type DesiredClientDeps = {
  readonly controlPlaneUrl: string
  readonly operatorTokenFile: string
}

const CALL_TIMEOUT_MS = 15_000

export function createDesiredClient(deps: DesiredClientDeps): DesiredClient {
  const call = (method: string, path: string, body: unknown) => request(deps, { method, path, body })
  return {
    async put(body) {
      const { kind, metadata } = body.resource
      const name = `${kind}/${metadata.namespace ?? 'default'}/${metadata.name}`
      return DesiredReply.parse(await call('PUT', `${OPERATOR_PATHS.desired}/${name}`, body))
    },
    async sweep(body) {
      return SweepReply.parse(await call('POST', OPERATOR_PATHS.sweep, body))
    },
    async problems(problems) {
      await call('POST', '/api/operator/problems', { source: 'file', problems })
    },
  }
}

type Call = { readonly method: string; readonly path: string; readonly body: unknown }

async function request(deps: DesiredClientDeps, { method, path, body }: Call): Promise<unknown> {
  // Read on every call: the control plane may write the token after the watcher has started.
  const token = await readToken(deps.operatorTokenFile)
  const response = await reach(`${deps.controlPlaneUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  const text = await response.text()
  if (response.ok) return JSON.parse(text)
  const detail = `the control plane answered ${response.status} to ${method} ${path}: ${text.slice(0, 500)}`
  throw new ChaperoneError(isTemporary(response.status) ? 'not_ready' : 'validation', { detail })
}

function isTemporary(status: number): boolean {
  return status >= 500 || status === 429 || status === 401
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    throw new ChaperoneError('not_ready', { detail: `the control plane at ${url} cannot be reached`, cause })
  }
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw new ChaperoneError('not_ready', { detail: `the operator token file ${file} cannot be read`, cause })
  }
}
