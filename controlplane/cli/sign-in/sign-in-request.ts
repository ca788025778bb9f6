import { ChaperoneError } from '../../../core/errors.ts'

export type SignInResponse = {
  readonly status: number
  readonly body: unknown
  /** Cookies that the response sets, each as `name=value`. */
  readonly cookies: readonly string[]
}

/** Sends a request without a session. Throws `not_ready` when the server is unreachable. */
export async function signInRequest(
  url: string,
  operation: `${'GET' | 'POST'} /api/auth/${string}`,
  { body, cookie }: { readonly body?: object; readonly cookie?: string | undefined } = {},
): Promise<SignInResponse> {
  const [method = '', path = ''] = operation.split(' ')
  const answer = await reach(url, path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === undefined ? {} : { cookie }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
    redirect: 'error',
  })
  const cookies = answer.headers.getSetCookie().map((text) => text.split(';')[0] ?? '')
  return { status: answer.status, body: await answer.json().catch(() => ({})), cookies }
}

/** Returns the regular expression match of the first cookie whose `name=value` matches the pattern. */
export function cookieOf({ cookies }: SignInResponse, pattern: RegExp): RegExpExecArray | undefined {
  return cookies.map((pair) => pattern.exec(pair)).find((match) => match !== null)
}

/** Returns a response with a 2xx status. Throws the server's error for any other response. */
export function requireSignInSuccess(url: string, answer: SignInResponse): SignInResponse {
  if (answer.status >= 200 && answer.status < 300) return answer
  const { message, error } = answer.body as { message?: unknown; error?: unknown }
  const why = [message, error].find((text) => typeof text === 'string') ?? `status ${answer.status}`
  throw new ChaperoneError('conflict', { detail: `${url} refused the sign-in: ${why}` })
}

async function reach(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, init)
  } catch (cause) {
    throw new ChaperoneError('not_ready', {
      detail: `The control plane does not answer at ${url}. Check that it runs: chaperone status`,
      cause,
    })
  }
}
