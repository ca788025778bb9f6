import type { Send } from '../notifications/send.ts'

export const CHAT_API_URL = 'https://slack.com/api'

export type ChatReply =
  | { readonly ok: true; readonly status: number; readonly body: Readonly<Record<string, unknown>> }
  /** Reply to a failed call. `error`: error code of the provider, such as `channel_not_found` or `ratelimited`. */
  | {
      readonly ok: false
      readonly status: number
      readonly error: string
      readonly retryAfterS: number | null
    }

/**
 * Calls a method of the chat provider's web API, such as `chat.postMessage`. Rejects when the provider is unreachable.
 */
export type ChatApi = (
  method: string,
  body: Readonly<Record<string, unknown>>,
  call: { readonly token: string; readonly signal: AbortSignal },
) => Promise<ChatReply>

const READ_BYTES = 256 * 1024
/** Methods of the web API that read data. The provider accepts their arguments as a form, but not as JSON. */
const FORM_METHODS: ReadonlySet<string> = new Set(['users.info'])

export function createChatApi({ send, baseUrl }: { readonly send: Send; readonly baseUrl: string }): ChatApi {
  return async (method, body, { token, signal }) => {
    const isForm = FORM_METHODS.has(method)
    const reply = await send({
      url: `${baseUrl}/${method}`,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json; charset=utf-8',
      },
      body: isForm ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body),
      readBytes: READ_BYTES,
      signal,
    })
    return read(reply)
  }
}

function read(reply: Awaited<ReturnType<Send>>): ChatReply {
  const { status, retryAfterS } = reply
  const body = status === 200 ? parse(reply.body) : null
  if (body?.['ok'] === true) return { ok: true, status, body }
  const named = typeof body?.['error'] === 'string' ? body['error'] : null
  return {
    ok: false,
    status,
    error: named ?? (status === 429 ? 'ratelimited' : `HTTP ${status}`),
    retryAfterS,
  }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
