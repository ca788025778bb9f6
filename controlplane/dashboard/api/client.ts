import { ApiError, type ManifestEdit } from './api-error.ts'
import type { InputOf, OperationName, ReplyOf } from './operations.ts'
import { keepPageSecret, PAGE_SECRET_HEADER, pageSecret } from './page-secret.ts'

/** Nothing on these pages waits longer: it then says that the server does not answer. */
const TIMEOUT_MS = 15_000

type Parts = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
}
/** Why the user has to sign in: the session has ended, or this browser has lost the secret of its page. */
export type SignInReason = 'signed_out' | 'page_secret'
type Listener = (why: SignInReason) => void
const onSignedOut = new Set<Listener>()

/** Calls the listener for every answer that requires a sign-in: 401, and 403 for a page without its secret. Returns the unsubscribe function. */
export function whenSignedOut(listener: Listener): () => void {
  onSignedOut.add(listener)
  return () => onSignedOut.delete(listener)
}

/** One call of the documented API with the session cookie. Rejects with ApiError. */
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
  const answer = await reach(addressOf(template, parts), init, signal)
  const value = parsed(await answer.text())
  const why = signInReason(answer.status, value)
  if (why !== null && !/^\/api\/auth\/(log|oidc)/.test(template))
    for (const listener of [...onSignedOut]) listener(why)
  if (answer.ok && BEGINS_OR_ENDS_SESSION.has(name)) keepPageSecret(secretOf(value))
  if (!answer.ok) throw new ApiError(answer.status, sentenceOf(value), { edit: editOf(value) })
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

/** Browsers say `Failed to fetch`, which helps nobody. */
async function reach(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(path, init)
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    throw new ApiError(
      0,
      'The control plane does not answer. Is it running? This page tries again by itself.',
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
  return body.details ?? body.message ?? body.error ?? 'The server gave no reason.'
}
