import { isUtf8 } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import type * as z from 'zod'
import { ChaperoneError, errorBody } from '../../core/errors.ts'
import { splitAuthority } from '../../core/request/authority-text.ts'
import type { RawHeaders } from '../../core/request/canonical.ts'
import { fieldMessage } from '../../core/schema/field-message.ts'
import type { DeepReadonly } from '../../core/wire/schema/fields.ts'
import { sha256 } from '../../runtime/sha256.ts'
import type { ApiReply, ApiRequest } from '../listener/deps.ts'

/** Body of a reply: JSON, or text in the Prometheus format. */
export type ApiAnswer =
  | { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  | { readonly status: number; readonly text: string }

/**
 * Returns the reply with status 200. `B` is the type of the reply in `core/wire`. Its default is `never`, so that a
 * reply without a type does not compile.
 */
export function ok<B extends object = never>(body: DeepReadonly<NoInfer<B>>): ApiAnswer {
  return { status: 200, body: { ...body } }
}

export function toReply(answer: ApiAnswer, extra: RawHeaders = []): ApiReply {
  const isText = 'text' in answer
  const type = isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
  return {
    status: answer.status,
    headers: ['Content-Type', type, 'Cache-Control', 'no-store', ...extra],
    body: isText ? answer.text : JSON.stringify(answer.body),
  }
}

/**
 * Returns the reply for an error, with its status, its body, and the headers Retry-After and WWW-Authenticate where
 * they apply.
 */
export function failureReply(failure: ChaperoneError): ApiReply {
  const { retryAfterS } = failure.options
  const headers = retryAfterS === undefined ? [] : ['Retry-After', String(retryAfterS)]
  const challenge = failure.code === 'unauthorized' ? ['WWW-Authenticate', 'Bearer'] : []
  return toReply({ status: failure.status, body: errorBody(failure) }, [...headers, ...challenge])
}

function headerOf(headers: RawHeaders, name: string): string | null {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() === name) return headers[i + 1] ?? null
  }
  return null
}

/**
 * Admits requests from this machine only, addressed to a name of this machine. A page in a browser can reach loopback
 * as well, but its requests carry the host of the page (DNS rebinding). Throws 403 or 421.
 */
export function assertLocal(request: ApiRequest): void {
  if (!isLoopbackAddress(request.remoteAddress)) {
    throw new ChaperoneError('forbidden', {
      detail: 'The internal API is available only from the local machine.',
    })
  }
  const host = headerOf(request.headers, 'host')
  if (host !== null && isLoopbackHost(host)) return
  throw new ChaperoneError('misdirected', {
    detail:
      'The Host header must be localhost or a loopback address. Call http://127.0.0.1:PORT with the port of the gateway.',
  })
}

function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address)
}

function isLoopbackHost(host: string): boolean {
  const name = splitAuthority(host).host.toLowerCase()
  return name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)
}

/** Throws 401 unless the request has the bearer token. Compares in constant time. */
export function assertToken(request: ApiRequest, token: string): void {
  const given = /^bearer +(\S+) *$/i.exec(headerOf(request.headers, 'authorization') ?? '')?.[1] ?? ''
  if (timingSafeEqual(sha256(given), sha256(token))) return
  throw new ChaperoneError('unauthorized', {
    detail:
      'Send the header Authorization: Bearer TOKEN with the token in the file that INTERNAL_TOKEN_FILE names.',
  })
}

/**
 * Returns the body validated by the schema. Throws 415 unless the body is JSON, and 400 that names every invalid or
 * unknown field.
 */
export async function parseBody<S extends z.ZodType>(request: ApiRequest, schema: S): Promise<z.infer<S>> {
  const type = headerOf(request.headers, 'content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new ChaperoneError('unsupported_body', { detail: 'Send JSON with Content-Type: application/json.' })
  }
  const parsed = schema.safeParse(jsonOf(await request.readBody()), { error: fieldMessage })
  if (parsed.success) return parsed.data
  throw invalid(parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`))
}

export function invalid(problems: readonly string[]): ChaperoneError {
  const details = problems.join('; ')
  return new ChaperoneError('validation', { detail: details, extra: { details } })
}

function jsonOf(body: Buffer): unknown {
  if (!isUtf8(body)) throw invalid(['body: is not valid UTF-8'])
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(['body: is not valid JSON'])
    throw error
  }
}
