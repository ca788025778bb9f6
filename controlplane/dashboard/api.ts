/** An answer other than 2xx; `message` is the sentence that the server wrote for people. */
export class ApiError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** One call of the documented API with the session cookie. Rejects with ApiError. */
export async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: { accept: 'application/json' } }
  if (body !== undefined) {
    init.body = JSON.stringify(body)
    init.headers = { accept: 'application/json', 'content-type': 'application/json' }
  }
  const answer = await reach(path, init)
  const value = parsed(await answer.text())
  if (!answer.ok) throw new ApiError(answer.status, sentenceOf(value))
  return value as T
}

/** Browsers say `Failed to fetch`, which helps nobody. */
async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init)
  } catch (cause) {
    throw new Error('The server does not answer. Is it running? This page tries again.', { cause })
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
