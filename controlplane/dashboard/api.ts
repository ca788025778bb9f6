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
  const answer = await fetch(path, init)
  const text = await answer.text()
  const value: unknown = text === '' ? {} : JSON.parse(text)
  if (!answer.ok) throw new ApiError(answer.status, sentenceOf(value))
  return value as T
}

function sentenceOf(value: unknown): string {
  const body = value as { details?: string; message?: string; error?: string }
  return body.details ?? body.message ?? body.error ?? 'The server gave no reason.'
}
