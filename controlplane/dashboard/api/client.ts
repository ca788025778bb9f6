import type { ManifestEdit } from '../../../core/wire/policies.ts'
import { ApiError } from './api-error.ts'
import type { InputOf, OperationName, ReplyOf } from './operations.ts'
import { keepPageSecret, PAGE_SECRET_HEADER, pageSecret } from './page-secret.ts'

/**
 * Timeout of an API request in milliseconds. A request that exceeds the timeout fails with the error that the control
 * plane does not respond.
 */
const TIMEOUT_MS = 15_000

type Parts = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
}
/**
 * Reason for a sign-in: the session has ended, or this browser has lost the page secret, which API requests send in
 * addition to the session cookie.
 */
export type SignInReason = 'signed_out' | 'page_secret'
type Listener = (why: SignInReason) => void
const onSignedOut = new Set<Listener>()

/**
 * Calls the listener for every response that requires a sign-in: 401, and 403 for a request without the page secret.
 * Returns the unsubscribe function.
 */
export function whenSignedOut(listener: Listener): () => void {
  onSignedOut.add(listener)
  return () => onSignedOut.delete(listener)
}

/** Calls an operation of the API with the session cookie. Rejects with `ApiError`. */
export async function call<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  signal?: AbortSignal,
): Promise<ReplyOf<N>> {
  const [method = 'GET', template = ''] = name.split(' ')
  const parts = input as Parts
  const headers = { accept: 'application/json', [PAGE_SECRET_HEADER]: pageSecret() }
  const init: RequestInit = {
    method,
    headers,
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]),
  }
  if (parts.body !== undefined) {
    init.body = JSON.stringify(parts.body)
    init.headers = { ...headers, 'content-type': 'application/json' }
  }
  const response = await reach(addressOf(template, parts), init, signal)
  const value = parsed(await response.text())
  const why = signInReason(response.status, value)
  if (why !== null && !/^\/api\/auth\/(log|oidc)/.test(template))
    for (const listener of [...onSignedOut]) listener(why)
  if (response.ok && BEGINS_OR_ENDS_SESSION.has(name)) keepPageSecret(secretOf(value))
  if (!response.ok) throw new ApiError(response.status, sentenceOf(value), { edit: editOf(value) })
  return value as ReplyOf<N>
}

const BEGINS_OR_ENDS_SESSION: ReadonlySet<OperationName> = new Set<OperationName>([
  'POST /api/auth/login',
  'POST /api/auth/oidc/exchange',
  'POST /api/auth/password',
  'POST /api/auth/logout',
])

function signInReason(status: number, value: unknown): SignInReason | null {
  if (status === 401) return 'signed_out'
  const { restriction } = value as { restriction?: string }
  return status === 403 && restriction === 'page_secret' ? 'page_secret' : null
}

function editOf(value: unknown): ManifestEdit | null {
  const answer = value as Partial<ManifestEdit> & { editing?: string }
  const { editing, manifest = '', removed = [], tests = [], replay = null } = answer
  return editing === 'yaml' ? { manifest, removed, tests, replay } : null
}

function secretOf(value: unknown): string | null {
  return (value as { page_secret?: string }).page_secret ?? null
}

export function addressOf(template: string, { params = {}, query = {} }: Parts): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

/** Sends the request. Replaces the `Failed to fetch` of browsers with an error that states what to do. */
async function reach(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, init)
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    throw new ApiError(
      0,
      'The control plane does not respond. Check that it is running; this page retries automatically.',
      {
        cause,
      },
    )
  }
}

function parsed(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return { message: text.slice(0, 200) }
    throw error
  }
}

function sentenceOf(value: unknown): string {
  const body = value as { details?: string; message?: string; error?: string }
  return (
    body.details ??
    body.message ??
    body.error ??
    'The control plane returned an error without a reason. Check its log.'
  )
}
